"""Tasks in memory: gone with the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Task


class MemoryStore:
    """A dictionary of tasks by id, in order of creation."""

    def __init__(self) -> None:
        self._tasks: dict[TaskId, Task] = {}

    def save(self, task: Task, event: Event) -> None:
        del event
        self._tasks[task.id] = task

    def get(self, task_id: TaskId) -> Task | None:
        return self._tasks.get(task_id)

    def tasks(self) -> Iterator[Task]:
        return iter(tuple(self._tasks.values()))
