"""A task whose process died has failed, and keeps what it had."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.events import RunEnded, TaskSettled, ToolEnded
from ohm_subagents.contract.outcome import Failed
from ohm_subagents.contract.requests import AnswerGiven, Deny
from ohm_subagents.contract.task import apply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.outcome import Outcome
    from ohm_subagents.contract.task import Task


OUTLIVES_MS: Final = 86_400_000
"""So long after its last event a task without a process may be taken up; after that it has failed."""


def recovered(task: Task, *, now_ms: int) -> tuple[Task, tuple[Event, ...]]:
    """Return the task as failed with `task_rehydrated_incomplete`, and the events that made it so."""
    outcome = Failed(
        error=OhmError(
            code=ErrorCode.REHYDRATED_INCOMPLETE,
            summary=f"Task '{task.id}' recovered from non-terminal state and marked failed",
            message=f"Task '{task.id}' restored from persistence in non-terminal state '{task.status}'"
            " and was marked failed",
            advice="Its process is gone; what it did is kept. Start a new task, or let send continue this one: set "
            'subagents.sendToFinished to "resume".',
            task_id=task.id,
        )
    )
    is_open = bool(task.runs) and task.runs[-1].outcome is None
    events = [*(cut_off(task, outcome) if is_open else ()), TaskSettled(outcome=outcome)]
    for event in events:
        task = apply(task, event, at_ms=max(now_ms, task.assignment.created_ms))
    return task, tuple(events)


def cut_off(task: Task, outcome: Outcome, *, answered: str = "") -> Iterator[Event]:
    """Yield the events that end the open run of a task whose process has died.

    Its calls are interrupted, and its requests denied, but the one that was `answered`.
    """
    for call in task.activity.open_calls:
        yield ToolEnded(call_id=call.call_id, tool=call.tool, status="interrupted", text="interrupted")
    for request in task.requests:
        if request.id != answered:
            yield AnswerGiven(request_id=request.id, answer=Deny("its process has ended"), by="cancel")
    yield RunEnded(outcome=outcome, output=task.runs[-1].output or "")


def outlives_owner(task: Task, *, now_ms: int) -> bool:
    """Return True for a task that need not fail with its process: its backend may go on with the run."""
    return task.assignment.outlives and not task.is_terminal and now_ms - task.updated_ms < OUTLIVES_MS


def may_go_on(task: Task, *, now_ms: int) -> bool:
    """Return True for a task that need not fail with its process: an answer may come, or its run goes on elsewhere."""
    return awaits_answer(task, now_ms=now_ms) or outlives_owner(task, now_ms=now_ms)


def awaits_answer(task: Task, *, now_ms: int) -> bool:
    """Return True for a task that waits for an answer which may still come: it need not fail with its process."""
    return any(one.expires_ms is None or one.expires_ms > now_ms for one in task.requests)


def recovery_note(task: Task) -> Diagnostic:
    """Return what the user reads of it; `task` is as it was found."""
    message = f"Task '{task.id}' restored from non-terminal '{task.status}' state and marked failed"
    advice = f"Its process died; what it did is kept, and `ohm run --resume {task.id}` goes on with it."
    return Diagnostic(subject="subagents.store", message=message, advice=advice)
