"""The refusal of a command about a task that there is."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ohm_subagents._orchestrator.admission.items import text_fault
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.replies import CommandRejected
from ohm_subagents.contract.result import Ok

if TYPE_CHECKING:
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents.contract.commands import Op, Send
    from ohm_subagents.contract.task import Task


def unsendable(command: Send, store: Store) -> CommandRejected | None:
    """Refuse a text that not every process and server can be sent as it is; None for a good one, and for no task."""
    error = text_fault("prompt", command.prompt)
    found = None if error is None else store.get(TaskId(command.id))
    if error is None or not isinstance(found, Ok):
        return None
    task = found.ok_value
    return refusing(task, "send")(error=error, invocation=task.assignment.invocation)


def refusing(task: Task, op: Op) -> partial[CommandRejected]:
    """Return what makes the refusal of a command about a task."""
    about = task.assignment
    return partial(
        CommandRejected,
        op=op,
        backend=about.backend,
        task_id=task.id,
        profile=about.profile,
        description=about.description,
    )
