"""Answers that a profile demands: the result of a run by that rule, and the prompt that corrects a missing one."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Final

from ohm_subagents._plugins.backends.interface import RunOutput
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.events import ToolEnded, ToolStarted
from ohm_subagents.contract.outcome import Cancelled, Failed, Succeeded
from ohm_subagents.contract.profile import FINALIZE
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents._orchestrator.queued_prompt import QueuedPrompt
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.outcome import Outcome
    from ohm_subagents.contract.task import Task

    Ended = Result[RunOutput, OhmError] | None

_NOT_BEGUN: Final = frozenset(
    {
        *(ErrorCode.UNSUPPORTED_BACKEND, ErrorCode.BACKEND_OPTIONS_INVALID, ErrorCode.COMMAND_UNUSABLE),
        *(ErrorCode.EVENT_LOOP_UNSUPPORTED, ErrorCode.FINALIZE_UNSUPPORTED),
        *(ErrorCode.MODEL_MISSING, ErrorCode.MODEL_UNKNOWN, ErrorCode.MODEL_KEY_MISSING),
        *(ErrorCode.PROVIDER_NOT_INSTALLED, ErrorCode.PROVIDER_AUTHENTICATION, ErrorCode.PROVIDER_QUOTA_EXCEEDED),
        ErrorCode.PROVIDER_REQUEST_REJECTED,
    }
)
"""Errors after which the next run would not begin either."""
_SPENT: Final = frozenset(
    {
        *(ErrorCode.BACKEND_TIMEOUT, ErrorCode.LOOP_DETECTED, ErrorCode.USAGE_LIMIT_EXCEEDED),
        *(ErrorCode.BUDGET_EXCEEDED, ErrorCode.BUDGET_UNENFORCEABLE, ErrorCode.CONTEXT_WINDOW_EXCEEDED),
    }
)
"""Errors of a run that has used up what it may take."""


def concluded(task: Task, prompt: QueuedPrompt, result: Ended, redact: Callable[[str], str]) -> Ended:
    """Return the result of a run whose backend returned `result`, or None because it was stopped.

    An answer that was handed in as its profile demands counts, whatever else was said and however the run ended.
    """
    final = task.activity.finalized if prompt.plan.profile.finalize else None
    match final:
        case None:
            return result
        case _ if final.status == "SUCCESS":
            return Ok(RunOutput(text=final.result or "", summary=prompt.summary(redact)))
        case _:
            return Err(OhmError(code=ErrorCode.FINALIZED_WITH_ERROR, message=final.error or ""))


def correction(task: Task, prompt: QueuedPrompt, ended: Outcome) -> str | None:
    """Return the text that asks for the answer missing after the newest run, which had this prompt.

    None if the answer was handed in or is not demanded, or if the run ended in a way that no prompt can correct.
    """
    if prompt.plan.profile.finalize is None or task.activity.finalized is not None or task.is_terminal:
        return None
    match ended:
        case Cancelled():
            return None
        case Failed(error=error) if error.code in _NOT_BEGUN | _SPENT:
            return None
        case Succeeded() | Failed():
            pass
    return (
        f"You have ended without a valid call of `{FINALIZE}`: {_reason(_calls(task, prompt))} "
        f"Call `{FINALIZE}` now, as your last action: status SUCCESS with your whole result, "
        "or status ERROR with an error that says what went wrong."
    )


def exhausted(prompt: QueuedPrompt, last: Outcome) -> Failed:
    """Return the failure of a prompt that may not be corrected any more; the error of its last run is kept."""
    message = f"The subagent ended without a valid call of {FINALIZE}, in {prompt.attempt} attempts."
    if prompt.attempt == 1:
        message = f"{message.removesuffix('s.')}."
    return Failed(
        error=OhmError(
            code=ErrorCode.FINALIZE_MISSING,
            message=message,
            advice=f"The last one failed: {last.error}"
            if isinstance(last, Failed)
            else f"Ask '{prompt.plan.profile.name}' for less, or run it on a model that calls tools reliably.",
        )
    )


def _calls(task: Task, prompt: QueuedPrompt) -> list[Event]:
    """Return the events about tools of the newest run, as far as they are kept. Stamps do not tell runs apart."""
    newest = takewhile(lambda one: one is not prompt.earlier, reversed(task.activity.calls))
    return [one.event for one in newest][::-1]


def _reason(calls: list[Event]) -> str:
    """Say why the calls of a run do not count as an answer."""
    finals = [event for event in calls if isinstance(event, ToolStarted | ToolEnded) and event.tool == FINALIZE]
    if not finals:
        return "you did not call it at all."
    match finals[-1]:
        case ToolStarted() | ToolEnded(status="interrupted"):
            return "your call was cut off."
        case ToolEnded(status="error", text=why):
            return f"your call was refused. {why}"
        case ToolEnded():
            after = [event.tool for event in calls if isinstance(event, ToolStarted) and event.tool != FINALIZE]
            return f"you have called `{after[-1]}` after it." if after else "it did not succeed."
