"""Answers that have to be handed in: what a run came to by that rule, and what is said to a subagent that broke it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ohm_subagents._plugins.interfaces import Capability, RunOutput
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.events import Failed, Succeeded, ToolEnded, ToolStarted
from ohm_subagents.contract.finalization import FINALIZE
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from ohm_subagents._orchestrator.plan import Plan
    from ohm_subagents._plugins.interfaces import BackendSpec
    from ohm_subagents.contract.events import Outcome
    from ohm_subagents.contract.profile import Profile
    from ohm_subagents.contract.task import Task

    Ended = Result[RunOutput, OhmError] | None

_FRUITLESS: Final = frozenset(
    {
        *(ErrorCode.UNSUPPORTED_BACKEND, ErrorCode.BACKEND_OPTIONS_INVALID, ErrorCode.COMMAND_UNUSABLE),
        *(ErrorCode.EVENT_LOOP_UNSUPPORTED, ErrorCode.FINALIZE_UNSUPPORTED, ErrorCode.FINALIZED_WITH_ERROR),
        *(ErrorCode.MODEL_MISSING, ErrorCode.MODEL_UNKNOWN, ErrorCode.MODEL_KEY_MISSING),
        *(ErrorCode.PROVIDER_NOT_INSTALLED, ErrorCode.PROVIDER_AUTHENTICATION, ErrorCode.PROVIDER_QUOTA_EXCEEDED),
        *(ErrorCode.BACKEND_TIMEOUT, ErrorCode.LOOP_DETECTED, ErrorCode.USAGE_LIMIT_EXCEEDED),
        *(ErrorCode.BUDGET_EXCEEDED, ErrorCode.BUDGET_UNENFORCEABLE, ErrorCode.CONTEXT_WINDOW_EXCEEDED),
    }
)
"""What nobody can correct by a word: the run could not begin, or the engine itself has ended it."""


def unsupported(profile: Profile, spec: BackendSpec | None) -> OhmError | None:
    """What stands against running a profile whose answers are handed in on a backend that cannot take one."""
    if profile.finalize is None or spec is None:
        return None
    if spec.capabilities & {Capability.CHILD_TOOLS, Capability.FINALIZE}:
        return None
    return OhmError(
        code=ErrorCode.FINALIZE_UNSUPPORTED,
        message=f"Profile '{profile.id}' demands {FINALIZE}, and backend '{spec.id}' gives subagents no such tool.",
        advice="Run it on a backend that gives tools to subagents, or take 'finalize' out of the profile.",
    )


def concluded(task: Task, plan: Plan, result: Ended) -> Ended:
    """What a run came to: what was handed in counts, whatever else was said, and however the run ended."""
    final = task.finalized if plan.profile.finalize else None
    match final:
        case None:
            return result
        case _ if final.status == "SUCCESS":
            return Ok(RunOutput(text=final.result or "", summary=plan.headline))
        case _:
            return Err(OhmError(code=ErrorCode.FINALIZED_WITH_ERROR, message=final.error or ""))


def correction(task: Task, plan: Plan, ended: Outcome) -> str | None:
    """What to tell a subagent whose run ended without its answer; None if there is nothing to be told."""
    if plan.profile.finalize is None or task.finalized is not None or task.is_terminal:
        return None
    if not isinstance(ended, Succeeded) and not (isinstance(ended, Failed) and ended.error.code not in _FRUITLESS):
        return None
    return (
        f"You have ended without a valid call of `{FINALIZE}`: {_reason(task)} "
        f"Call `{FINALIZE}` now, as your last action: status SUCCESS with your whole result, "
        "or status ERROR with an error that says what went wrong."
    )


def exhausted(plan: Plan, attempts: int) -> Failed:
    """How a task ends whose subagent was told as often as it may be."""
    message = f"The subagent ended without a valid call of {FINALIZE}, in {attempts} attempts."
    if attempts == 1:
        message = f"{message.removesuffix('s.')}."
    return Failed(
        error=OhmError(
            code=ErrorCode.FINALIZE_MISSING,
            message=message,
            advice=f"Ask '{plan.profile.name}' for less, or run it on a model that calls tools reliably.",
        )
    )


def told(plan: Plan, prompt: str) -> Plan:
    """The same plan with this prompt, and nothing else before it."""
    item = replace(plan.item, prompt=prompt, files=(), context="", again=None)
    return replace(plan, item=item)


def _reason(task: Task) -> str:
    """Why what the run called does not count, as far as it is known."""
    begun = task.runs[-1].started_ms if task.runs else 0
    calls = [one.event for one in task.calls if one.at_ms >= begun]
    finals = [event for event in calls if isinstance(event, ToolEnded) and event.tool == FINALIZE]
    if not finals:
        return "you did not call it at all."
    if finals[-1].status != "success":
        return f"your call was refused. {finals[-1].text}"
    after = [event.tool for event in calls if isinstance(event, ToolStarted) and event.tool != FINALIZE]
    return f"you have called `{after[-1]}` after it." if after else "it did not succeed."
