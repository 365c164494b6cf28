"""A task with what only its events tell, and if it waits for another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ohm_subagents._views.work_facts import concern_of
from ohm_subagents.contract.events import RequestHeld  # noqa: TC001  the types of a public record are read at run time
from ohm_subagents.contract.task import Task

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ohm_subagents._views.work_facts import Concern
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.listed_task import ListedTask


class LiveTask(NamedTuple):
    """A task, and what only its events tell."""

    task: Task
    """The newest state."""
    thinking: str = ""
    """The end of what its model thinks, while it does nothing else."""
    held: RequestHeld | None = None
    """The model request that waits; None while none does."""
    depth: int = 0
    """The number of shown tasks that it is below."""
    is_patient: bool = False
    """True while it waits for a task that it has started (`patient_tasks`): such a one is not stuck."""

    @property
    def is_held(self) -> bool:
        """True while it waits for a task that it has started, or its model request for its turn or a budget."""
        return self.held is not None or self.is_patient

    def concern(self, *, now_ms: int) -> Concern | None:
        """Return why it needs somebody; None if it does not."""
        return concern_of(self.task, now_ms=now_ms, is_patient=self.is_held)


def patient_tasks(tasks: Iterable[Task | ListedTask]) -> frozenset[TaskId | None]:
    """Return the ids of those that wait for one of these, which they have started and which has not settled."""
    working = (one for one in tasks if not one.is_terminal)
    return frozenset(one.assignment.parent if isinstance(one, Task) else one.parent for one in working)


def with_patience(tasks: Sequence[LiveTask]) -> list[LiveTask]:
    """Return tasks of which each knows whether it waits for another one of them."""
    patient = patient_tasks(one.task for one in tasks)
    return [one._replace(is_patient=one.is_patient or one.task.id in patient) for one in tasks]
