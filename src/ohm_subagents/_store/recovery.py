"""A task whose process died has failed, and keeps what it had."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.events import RunEnded, TaskSettled, ToolEnded
from ohm_subagents.contract.outcome import Failed
from ohm_subagents.contract.task import apply

if TYPE_CHECKING:
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.task import Task


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
    events: list[Event] = []
    if task.runs and task.runs[-1].outcome is None:
        events += [
            ToolEnded(call_id=call.call_id, tool=call.tool, status="interrupted", text="interrupted")
            for call in task.activity.open_calls
        ]
        events.append(RunEnded(outcome=outcome, output=task.runs[-1].output or ""))
    events.append(TaskSettled(outcome=outcome))
    for event in events:
        task = apply(task, event, at_ms=max(now_ms, task.assignment.created_ms))
    return task, tuple(events)


def recovery_note(task: Task) -> Diagnostic:
    """Return what the user reads of it; `task` is as it was found."""
    message = f"Task '{task.id}' restored from non-terminal '{task.status}' state and marked failed"
    return Diagnostic(subject="subagents.store", message=message)
