"""The result of a call: a header with status and session, and the answer that the agent handed in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import (
    Accepted,
    CommandRejected,
    Finalized,
    ItemRejected,
    StartReply,
    ToolResult,
    finalized_payload,
    plain_failure,
)

if TYPE_CHECKING:
    from ohm_subagents.suite import JsonObject, Reply, Task

LATE: Final = "The subagent took longer than suiteOptions.sticky.timeoutMs of ohm.json"
CANCELLED: Final = "The subagent was cancelled."
PARTIAL: Final = "## Partial result"


def late(timeout_ms: int | None) -> str:
    """Word the end of the option's time; the engine words every other clock."""
    return "" if timeout_ms is None else f"{LATE}: {timeout_ms} ms."


def final_of(reply: Reply) -> Finalized:
    """Return the answer; for a task without one, the reason as an error."""
    match reply:
        case StartReply(items=(Accepted(task=task),)):
            return _final_of_task(task)
        case StartReply(items=(ItemRejected(error=error),)) | CommandRejected(error=error):
            return failed(str(error))
        case _:
            raise AssertionError(reply)


def _final_of_task(task: Task) -> Finalized:
    if task.activity.finalized is not None and task.status != "cancelled":
        return task.activity.finalized
    if task.error is None:
        return failed(CANCELLED, said=task.text)
    is_late = task.error.message.startswith(LATE)  # it says what to change, the advice does not
    return failed(task.error.message if is_late else str(plain_failure(task.error, who="The subagent")), said=task.text)


def failed(error: str, *, said: str = "") -> Finalized:
    """Make an error in the place of an answer; the text `said` so far is kept as its result."""
    return Finalized(status="ERROR", error=error, result=said.strip() or None)


def result_of(final: Finalized, session_id: str | None = None) -> ToolResult:
    """Make the result: a text for the model, and the same for machines."""
    header = [f"**Status:** {final.status}", *(() if session_id is None else (f"**Session ID:** `{session_id}`",))]
    details: JsonObject = {} if session_id is None else {"sessionId": session_id}
    details["finalized"] = finalized_payload(final)
    text = "\n".join((*header, "", "---", "", _body(final)))
    return ToolResult(text=text, details=details, has_failed=final.status == "ERROR")


def noted(result: ToolResult, *, resumed: bool | None, notes: tuple[str, ...]) -> ToolResult:
    """Add `resumed` if the caller named a session, and `notes` if there are any."""
    known: JsonObject = {} if resumed is None else {"resumed": resumed}
    if notes:
        known["notes"] = [*notes]
    return replace(result, details={**result.details, **known})


def _body(final: Finalized) -> str:
    if final.status == "SUCCESS":
        return final.result or ""
    error = final.error or ""
    return f"{error}\n\n{PARTIAL}\n\n{final.result}" if final.result else error
