"""What became of a call, in the words of 003: a header with status and session, and what the agent handed in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import (
    Accepted,
    Finalized,
    Refused,
    Rejected,
    Started,
    ToolResult,
    finalized_payload,
    plain_failure,
)
from ohm_subagents.suites.sticky.limits import LATE

if TYPE_CHECKING:
    from ohm_subagents.suite import JsonObject, Reply, Task

CANCELLED: Final = "The subagent was cancelled."
PARTIAL: Final = "## Partial result"


def final_of(reply: Reply) -> Finalized:
    """What was handed in; for a task that came to nothing, the reason as an error."""
    match reply:
        case Started(items=(Accepted(task=task),)):
            return _final_of_task(task)
        case Started(items=(Refused(error=error),)) | Rejected(error=error):
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
    """An error of our own, in the place of one that was handed in; what was `said` until then is not lost."""
    return Finalized(status="ERROR", error=error, result=said.strip() or None)


def result_of(final: Finalized, session_id: str | None = None) -> ToolResult:
    """The text for the model, and the same for machines."""
    header = [f"**Status:** {final.status}", *(() if session_id is None else (f"**Session ID:** `{session_id}`",))]
    details: JsonObject = {} if session_id is None else {"sessionId": session_id}
    details["finalized"] = finalized_payload(final)
    text = "\n".join((*header, "", "---", "", _body(final)))
    return ToolResult(text=text, details=details, has_failed=final.status == "ERROR")


def noted(result: ToolResult, *, resumed: bool | None, notes: tuple[str, ...]) -> ToolResult:
    """With `resumed`, where the caller has named a session, and with `notes`, where there is something to know."""
    known: JsonObject = {} if resumed is None else {"resumed": resumed}
    if notes:
        known["notes"] = [*notes]
    return replace(result, details={**result.details, **known})


def _body(final: Finalized) -> str:
    if final.status == "SUCCESS":
        return final.result or ""
    error = final.error or ""
    return f"{error}\n\n{PARTIAL}\n\n{final.result}" if final.result else error
