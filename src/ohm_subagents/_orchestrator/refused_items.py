"""Items that were never admitted, as they are kept for whoever reads their session."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ohm_subagents._orchestrator.admission.new_tasks import refused_task
from ohm_subagents._orchestrator.run.redaction import redacted_event, redacted_task
from ohm_subagents.contract.events import TaskQueued, TaskSettled
from ohm_subagents.contract.outcome import Failed
from ohm_subagents.contract.result import Err, Result
from ohm_subagents.contract.task import apply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ohm_subagents._plugins.stores import Store
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.ids import Clock, TaskId
    from ohm_subagents.contract.replies import ItemRejected


def stored_refusal(
    refused: ItemRejected, store: Store, *, new_id: Callable[[], Result[TaskId, OhmError]], clock: Clock
) -> ItemRejected:
    """Store a refused item as a failed task, if it names a session: reading that shows it. Return it with its id."""
    if refused.item.session is None:
        return refused
    given = new_id()
    if isinstance(given, Err):
        return refused
    task = refused_task(given.ok_value, refused, clock())
    events: Sequence[Event] = (TaskQueued(), TaskSettled(outcome=Failed(error=replace(refused.error, task_id=task.id))))
    redactor = refused.item.redaction
    if redactor is not None:
        task = redacted_task(task, redactor)
        task = replace(task, assignment=replace(task.assignment, profile=redactor.text(task.assignment.profile)))
        events = [redacted_event(event, redactor) for event in events]
    for event in events:
        task = apply(task, event, at_ms=task.assignment.created_ms)
        store.save(task, event)
    return replace(refused, task_id=task.id)
