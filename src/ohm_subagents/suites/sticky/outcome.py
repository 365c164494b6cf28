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

CANCELLED: Final = "The subagent was cancelled."
PARTIAL: Final = "## Partial result"


def final_of(reply: Reply, timeout_ms: int | None) -> Finalized:
    """Return the answer; for a task without one, the reason as an error. `timeout_ms` is the option's time."""
    match reply:
        case StartReply(items=(Accepted(task=task),)):
            return _final_of_task(task, timeout_ms)
        case StartReply(items=(ItemRejected(error=error),)) | CommandRejected(error=error):
            return failed(str(error))
        case _:
            raise AssertionError(reply)


def _final_of_task(task: Task, timeout_ms: int | None) -> Finalized:
    if task.activity.finalized is not None and task.status != "cancelled":
        return task.activity.finalized
    if task.error is None:
        return failed(CANCELLED, said=task.text)
    why = str(plain_failure(task.error, who="The subagent"))
    if timeout_ms is not None and task.runs and task.runs[-1].stopped_by in {"soft", "cap"}:
        why = f"The subagent took longer than suiteOptions.sticky.timeoutMs of ohm.json: {timeout_ms} ms."
    return failed(why, said=task.text)


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
