"""Tasks in memory: gone with the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._store.retention import Retention, RetentionPolicy
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents.contract.diagnostics import Diagnostic
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.ids import Clock, SessionId, TaskId
    from ohm_subagents.contract.task import Task


class MemoryStore:
    """A dictionary of tasks by id, in order of creation."""

    def __init__(self, clock: Clock, policy: RetentionPolicy | None = None) -> None:
        self._clock = clock
        self._tasks: dict[TaskId, Task] = {}
        self._retention = Retention(policy or RetentionPolicy())

    def save(self, task: Task, event: Event) -> None:
        del event
        is_new = task.id not in self._tasks
        self._tasks[task.id] = task
        if task.ended_ms is not None:
            self._retention.ended(task.id, task.ended_ms)
        if is_new:
            self._retention.created(task.id)
            self._drop_expired()
            self._evict()

    def get(self, task_id: TaskId) -> Result[Task, OhmError]:
        self._drop_expired()
        task = self._tasks.get(task_id)
        return Err(self._retention.reason(task_id)) if task is None else Ok(task)

    def retain(self, policy: RetentionPolicy) -> None:
        self._retention.policy = policy
        self._evict()

    def tasks(self) -> Iterator[Task]:
        self._drop_expired()
        return iter(tuple(self._tasks.values()))

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return ()

    def session(self, session_id: SessionId) -> tuple[Task, ...]:
        return tuple(task for task in self.tasks() if task.session_id == session_id)

    def is_foreign(self, task_id: TaskId) -> bool:
        del task_id
        return False

    async def flush(self) -> None:
        """Nothing survives this process."""

    def _evict(self) -> None:
        for task_id in self._retention.evicted(len(self._tasks)):
            del self._tasks[task_id]

    def _drop_expired(self) -> None:
        for task_id in self._retention.expired(self._clock()):
            del self._tasks[task_id]
