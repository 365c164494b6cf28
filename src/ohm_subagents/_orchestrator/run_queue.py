"""Decide which queued task runs next: first come, first served, under a cap for each batch and one for the `Ohm`."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from contextlib import asynccontextmanager, contextmanager
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._concurrency.event_loop import on_asyncio
from ohm_subagents._orchestrator.run.parking import lineage
from ohm_subagents.contract.events import DiagnosticRaised, TaskQueued

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterable

    from anyio.abc import TaskGroup

    from ohm_subagents._orchestrator.run.running_task import RunningTask

    Work = Callable[[RunningTask, Callable[[], None]], Awaitable[None]]


IN_STEP: Final = 100
"""Tasks that are started and have not begun, at most."""
_QUEUED: Final = TaskQueued()


class _Batch:
    """Tasks of one call that wait, and how many of it may run at once."""

    __slots__ = ("is_nested", "is_offered", "running", "waiting", "workers")

    def __init__(self, tasks: Iterable[RunningTask], workers: int) -> None:
        self.waiting = deque(tasks)
        self.is_nested = bool(self.waiting) and self.waiting[0].caller.task_id is not None  # all have one caller
        self.workers = workers
        self.running = 0
        self.is_offered = False


class _Return:
    """The number of those that wait until a task has a slot again that it had given back; `is_in` when it has it."""

    def __init__(self) -> None:
        self.waiting = 0
        self.is_in = anyio.Event()


class RunQueue:
    """Starts `work` for each task in its turn. A task that waits has a ticket; the lowest runs next.

    Tasks begin in the order of their tickets on every event loop. asyncio runs them in the order in which they were
    started, so those whose turn it is are started together: in step, they cost a third less than one after another. At
    most a hundred are, so that a backend elsewhere works on the first ones while the last of a thousand begin. trio
    shuffles them, so there the next one is started only when `work` has called what it was given.

    A slot is free as soon as `work` has ended: the caps are about work that really goes on, also that of a backend
    which takes its time to be cancelled. What a task starts runs in its slot: if it had to wait for one of its own,
    both could wait for ever.
    """

    def __init__(self, group: TaskGroup, work: Work) -> None:
        self._group = group
        self._work = work
        self._running = 0
        self._beginning = 0
        self._most_beginning = IN_STEP if on_asyncio() else 1
        self._tickets = count()
        self._line: list[int] = []
        self._ready: list[tuple[int, _Batch]] = []
        self._nested: list[tuple[int, _Batch]] = []
        self._followers: set[Callable[[], None]] = set()
        self._slots: dict[RunningTask, _Batch] = {}
        self._given: dict[RunningTask, _Batch] = {}
        self._returning: dict[RunningTask, _Return] = {}
        self._max_running = math.inf

    def limit(self, max_running: int | None) -> None:
        """Limit the tasks that run at once, over all calls; those that run already go on."""
        self._max_running = math.inf if max_running is None else max_running
        self._dispatch()

    def put(self, tasks: Iterable[RunningTask], *, workers: int) -> None:
        """Let all of them run in order, at most `workers` at once.

        Each records that it was queued, and the parts of its call that count for nothing: its admission may tell them.
        """
        batch = _Batch(tasks, max(1, workers))
        for live in batch.waiting:
            live.ticket = next(self._tickets)
            self._line.append(live.ticket)
        for live in tuple(batch.waiting):
            if not live.task.runs:  # else another process has run it, and a task is queued once
                is_known = bool(live.task.diagnostics)  # to the process that has queued it before this one
                live.record.add(_QUEUED)
                for diagnostic in () if is_known else live.inbox.first.plan.diagnostics:
                    live.record.add(DiagnosticRaised(diagnostic=diagnostic))
        self._offer(batch)
        self._dispatch()

    def position(self, live: RunningTask) -> int | None:
        """Return the position in the queue, from 1; None for a task that does not wait."""
        return None if live.ticket is None else bisect_left(self._line, live.ticket) + 1

    def leave(self, live: RunningTask) -> bool:
        """Take a task out of the queue; return whether it was in it."""
        if live.ticket is None:
            return False
        del self._line[bisect_left(self._line, live.ticket)]
        live.ticket = None
        for moved in tuple(self._followers):
            moved()
        return True

    @contextmanager
    def followed(self, moved: Callable[[], None]) -> Generator[None]:
        """Call `moved` whenever a task leaves the line."""
        self._followers.add(moved)
        try:
            yield
        finally:
            self._followers.discard(moved)

    @asynccontextmanager
    async def parked(self, live: RunningTask) -> AsyncGenerator[None]:
        """Give the slot of a task that runs to another one while the context is open; then wait for one again.

        It comes before all that have not begun. So is the slot of the task at the root given, while that only waits for
        tasks that are parked; it has one again before any of them goes on. A task whose work is cancelled meanwhile
        takes no slot again.
        """
        root = lineage(live)[0]
        live.parked_count += 1
        try:
            self._give_back(live)
            self._follow(root)
            self._dispatch()
            yield
        finally:
            live.parked_count -= 1
        for one in (root, live):
            if one in self._given:
                await self._come_back(one)

    async def _come_back(self, live: RunningTask) -> None:
        """Wait until a task that has given its slot back has one again."""
        back = self._returning.setdefault(live, _Return())
        back.waiting += 1
        self._dispatch()
        try:
            await back.is_in.wait()
        finally:
            back.waiting -= 1
            if not back.waiting and self._returning.get(live) is back:
                del self._returning[live]

    def _follow(self, root: RunningTask) -> None:
        """Give the slot of a task back if it only waits; if it no longer does and has none, it gets one at once."""
        if root.is_idle:
            self._give_back(root)
        elif root in self._given and root not in self._returning:  # what it waited for was cancelled
            self._slots[root] = batch = self._given.pop(root)
            self._take_slot(batch)

    def _give_back(self, live: RunningTask) -> None:
        batch = self._slots.pop(live, None)
        if batch is not None:
            self._given[live] = batch
            self._leave_slot(batch)

    def _take_slot(self, batch: _Batch) -> None:
        batch.running += 1
        self._running += not batch.is_nested

    def _leave_slot(self, batch: _Batch) -> None:
        batch.running -= 1
        self._running -= not batch.is_nested
        self._offer(batch)

    def _let_back(self) -> None:
        """Give slots to the tasks that had one before, oldest first."""
        for live, back in tuple(self._returning.items()):
            batch = self._given[live]
            if batch.running < batch.workers and (batch.is_nested or self._running < self._max_running):
                del self._returning[live]
                self._slots[live] = self._given.pop(live)
                self._take_slot(batch)
                back.is_in.set()

    def _offer(self, batch: _Batch) -> None:
        while batch.waiting and batch.waiting[0].ticket is None:  # it was cancelled while it waited
            batch.waiting.popleft()
        if batch.waiting and batch.running < batch.workers and not batch.is_offered:
            batch.is_offered = True
            heappush(self._nested if batch.is_nested else self._ready, (batch.waiting[0].ticket or 0, batch))

    def _dispatch(self) -> None:
        if self._returning:
            self._let_back()
        while self._beginning < self._most_beginning and (batch := self._next()) is not None:
            batch.is_offered = False
            live = batch.waiting.popleft() if batch.waiting else None
            if live is not None and self.leave(live):
                self._take_slot(batch)
                self._slots[live] = batch
                self._beginning += 1
                live.work = self._group.create_task(self._run(live, batch), name=live.task.id, context=live.origin)
            self._offer(batch)

    def _next(self) -> _Batch | None:
        """Return the batch whose first task may run now."""
        if self._nested:
            return heappop(self._nested)[1]
        if self._ready and self._running < self._max_running:
            return heappop(self._ready)[1]
        return None

    async def _run(self, live: RunningTask, batch: _Batch) -> None:
        is_beginning = True

        def begun() -> None:
            nonlocal is_beginning
            if is_beginning:
                is_beginning = False
                self._beginning -= 1
                self._dispatch()

        try:
            await self._work(live, begun)
        finally:
            if self._slots.pop(live, None) is not None:  # else it has given its slot back
                self._leave_slot(batch)
            self._given.pop(live, None)
            self._returning.pop(live, None)
            if live.parent is not None:
                self._follow(lineage(live)[0])
            begun()
            self._dispatch()
