"""Answers that have to be handed in: what a run came to by that rule, and what is said to a subagent that broke it."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from ohm_subagents._plugins.interfaces import RunOutput
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.events import Cancelled, Failed, Succeeded, ToolEnded, ToolStarted
from ohm_subagents.contract.finalization import FINALIZE
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents._orchestrator.message import Message
    from ohm_subagents.contract.events import Event, Outcome
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
"""The next run would not begin either."""
_SPENT: Final = frozenset(
    {
        *(ErrorCode.BACKEND_TIMEOUT, ErrorCode.LOOP_DETECTED, ErrorCode.USAGE_LIMIT_EXCEEDED),
        *(ErrorCode.BUDGET_EXCEEDED, ErrorCode.BUDGET_UNENFORCEABLE, ErrorCode.CONTEXT_WINDOW_EXCEEDED),
    }
)
"""The run was given all that it may have."""


def concluded(task: Task, message: Message, result: Ended, told: Callable[[str], str]) -> Ended:
    """What the run of a message came to, of which its backend returned `result`, or nothing because it was stopped.

    Where an answer has to be handed in and was, that counts, whatever else was said, and however the run ended.
    """
    final = task.finalized if message.plan.profile.finalize else None
    match final:
        case None:
            return result
        case _ if final.status == "SUCCESS":
            return Ok(RunOutput(text=final.result or "", summary=message.plan.summary_of(message, told)))
        case _:
            return Err(OhmError(code=ErrorCode.FINALIZED_WITH_ERROR, message=final.error or ""))


def correction(task: Task, message: Message, ended: Outcome) -> str | None:
    """The prompt for a subagent whose newest run, which had this message, ended without its answer.

    None if it has handed one in, or need not, or if the run ended in a way that no word can correct.
    """
    if message.plan.profile.finalize is None or task.finalized is not None or task.is_terminal:
        return None
    match ended:
        case Cancelled():
            return None
        case Failed(error=error) if error.code in _NOT_BEGUN | _SPENT:
            return None
        case Succeeded() | Failed():
            pass
    return (
        f"You have ended without a valid call of `{FINALIZE}`: {_reason(_calls(task, message))} "
        f"Call `{FINALIZE}` now, as your last action: status SUCCESS with your whole result, "
        "or status ERROR with an error that says what went wrong."
    )


def exhausted(plan: Plan, attempts: int, last: Outcome) -> Failed:
    """How a task ends whose subagent was told as often as it may be; what its last run failed of is not lost."""
    message = f"The subagent ended without a valid call of {FINALIZE}, in {attempts} attempts."
    if attempts == 1:
        message = f"{message.removesuffix('s.')}."
    return Failed(
        error=OhmError(
            code=ErrorCode.FINALIZE_MISSING,
            message=message,
            advice=f"The last one failed: {last.error}"
            if isinstance(last, Failed)
            else f"Ask '{plan.profile.name}' for less, or run it on a model that calls tools reliably.",
        )
    )


def asking(plan: Plan, prompt: str) -> Plan:
    """The same plan for a run that is asked only this: what came before the first prompt is in its session already."""
    item = replace(plan.item, prompt=prompt, files=(), context="", again=None)
    return replace(plan, item=item)


def _calls(task: Task, message: Message) -> list[Event]:
    """The facts about tools of the newest run, as far as they are kept. Stamps do not tell runs apart."""
    newest = takewhile(lambda one: one is not message.earlier, reversed(task.calls))
    return [one.event for one in newest][::-1]


def _reason(calls: list[Event]) -> str:
    """Why what a run called does not count, as far as it is known."""
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
