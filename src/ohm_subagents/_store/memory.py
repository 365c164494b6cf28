"""Tasks in memory: gone with the process."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from anyio.lowlevel import checkpoint

from ohm_subagents._plugins.stores import RetentionPolicy, TaskQuery
from ohm_subagents._store.control import MemoryControl
from ohm_subagents._store.history import events_of
from ohm_subagents._store.outbox import MemoryOutbox
from ohm_subagents._store.retention import Hidden, Retention
from ohm_subagents.contract.events import TaskSettled
from ohm_subagents.contract.listed_task import ELSEWHERE, ListedTask
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence

    from ohm_subagents._plugins.stores import Store, StoreRequest
    from ohm_subagents.contract.diagnostics import Diagnostic
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.events import Event, Recorded
    from ohm_subagents.contract.ids import Clock, SessionId, TaskId
    from ohm_subagents.contract.task import Task


_NOTHING: Final[Mapping[TaskId, Hidden]] = MappingProxyType({})
_EVERY: Final = TaskQuery()


@asynccontextmanager
async def open_memory(request: StoreRequest) -> AsyncGenerator[Store]:
    """Open an empty store."""
    yield MemoryStore(request.clock, request.policy)


class MemoryStore:
    """A dictionary of tasks by id, in order of creation. What inherits from it has an outbox that is in memory, too."""

    first_sequence = 1

    def __init__(
        self,
        clock: Clock,
        policy: RetentionPolicy | None = None,
        *,
        diagnostics: tuple[Diagnostic, ...] = (),
        place: str | None = None,
    ) -> None:
        self._clock = clock
        self._tasks: dict[TaskId, Task] = {}
        self._hidden: OrderedDict[TaskId, Hidden] = OrderedDict()
        self._retention = Retention(policy or RetentionPolicy())
        self._diagnostics = diagnostics
        self._place = place
        self.outbox = MemoryOutbox(lambda: self._retention.policy.max_entries)
        self.control = MemoryControl(self._is_open)

    # Writing

    def save(self, task: Task, event: Event) -> None:
        is_new = task.id not in self._tasks
        if is_new and task.is_terminal and type(event) is not TaskSettled:
            return  # it was removed since its end
        self._tasks[task.id] = task
        if task.ended_ms is not None:
            self._retention.ended(task.id, task.ended_ms)
        if type(event) is TaskSettled:
            self.outbox.add(task)
            self.control.settle(task.id)
        if is_new:
            self._hidden.pop(task.id, None)
            self._retention.created(task.id)
            self._drop_expired()
            self._evict()

    def save_all(self, saved: Sequence[tuple[Task, Event]]) -> None:
        for task, event in saved:
            self.save(task, event)

    def restore(
        self, tasks: Iterable[Task], expired: Mapping[TaskId, str], hidden: Mapping[TaskId, Hidden] = _NOTHING
    ) -> None:
        """Take in tasks of an earlier process, and why others were removed."""
        self._hidden.update(hidden)
        for task_id, why in expired.items():
            self._retention.remember(task_id, why)
        for task in tasks:
            self._retention.created(task.id)
            self._tasks[task.id] = task
        for task in sorted(self._tasks.values(), key=lambda task: task.ended_ms or 0):
            if task.ended_ms is not None:
                self._retention.ended(task.id, task.ended_ms)
        self._drop_expired()
        self._evict()

    def retain(self, policy: RetentionPolicy) -> None:
        self._retention.policy = policy
        self._evict()

    async def flush(self) -> None:
        """Nothing survives this process."""

    def _evict(self) -> None:
        """Remove for good what makes room for others: first what is past its time."""
        while self._hidden and len(self._tasks) + len(self._hidden) > self._retention.policy.max_entries:
            self._hidden.popitem(last=False)
        for task_id in self._retention.evicted(len(self._tasks)):
            del self._tasks[task_id]

    def _drop_expired(self) -> None:
        now_ms = self._clock()
        for task_id, hidden in [each for each in self._hidden.items() if each[1].at_ms > now_ms]:
            del self._hidden[task_id]
            self._tasks[task_id] = hidden.task
            self._retention.returned(hidden.task)
        for task_id in self._retention.expired(now_ms):
            self._hidden[task_id] = Hidden(task=self._tasks.pop(task_id), at_ms=now_ms)

    # Reading

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self._diagnostics

    @property
    def place(self) -> str | None:
        return self._place

    def count(self, query: TaskQuery | None = None) -> int:
        return len(self._tasks) if query is None else sum(1 for _ in self.list(query))

    def get(self, task_id: TaskId) -> Result[Task, OhmError]:
        self._drop_expired()
        task = self._tasks.get(task_id)
        return Err(self._retention.reason(task_id)) if task is None else Ok(task)

    def tasks(self) -> Iterator[Task]:
        self._drop_expired()
        return iter(tuple(self._tasks.values()))

    def list(self, query: TaskQuery = _EVERY) -> Iterator[Result[ListedTask, OhmError]]:
        return (Ok(ListedTask.of(task)) for task in reversed([*self.tasks()]) if query.matches(task))

    def recent(self) -> tuple[Task, ...]:
        return tuple(self.tasks())

    def session(self, session_id: SessionId) -> tuple[Task, ...]:
        return tuple(task for task in self.tasks() if task.session_id == session_id)

    async def history(self, task: Task) -> tuple[Recorded, ...]:
        await checkpoint()
        return events_of(task)

    def is_foreign(self, task_id: TaskId) -> bool:
        del task_id
        return False

    def owner(self, task_id: TaskId) -> str:
        del task_id
        return ELSEWHERE

    def _is_open(self, task_id: TaskId) -> bool:
        task = self._tasks.get(task_id)
        return task is not None and not task.is_terminal
