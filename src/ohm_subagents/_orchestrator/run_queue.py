"""Decide which queued task runs next: first come, first served, under a cap for each batch and one for the `Ohm`."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import deque
from contextlib import contextmanager
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Final

from ohm_subagents._concurrency.event_loop import on_asyncio
from ohm_subagents.contract.events import TaskQueued

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Iterable

    from anyio.abc import TaskGroup

    from ohm_subagents._orchestrator.run.live import LiveTask

    Work = Callable[[LiveTask, Callable[[], None]], Awaitable[None]]


_QUEUED: Final = TaskQueued()


class _Batch:
    """Tasks of one call that wait, and how many of it may run at once."""

    __slots__ = ("is_nested", "is_offered", "running", "waiting", "workers")

    def __init__(self, tasks: Iterable[LiveTask], workers: int) -> None:
        self.waiting = deque(tasks)
        self.is_nested = bool(self.waiting) and self.waiting[0].caller.task_id is not None  # all have one caller
        self.workers = workers
        self.running = 0
        self.is_offered = False


class RunQueue:
    """Starts `work` for each task in its turn. A task that waits has a ticket; the lowest runs next.

    Tasks begin in the order of their tickets on every event loop. asyncio runs them in the order in which they were
    started, so all whose turn it is are started together: in step, they cost a third less than one after another. trio
    shuffles them, so there the next one is started only when `work` has called what it was given.

    A slot is free as soon as `work` has ended: the caps are about work that really goes on, also that of a backend
    which takes its time to be cancelled. What a task starts runs in its slot: if it had to wait for one of its own,
    both could wait for ever.
    """

    def __init__(self, group: TaskGroup, work: Work) -> None:
        self._group = group
        self._work = work
        self._running = 0
        self._is_beginning = False
        self._is_shuffled = not on_asyncio()
        self._tickets = count()
        self._line: list[int] = []
        self._ready: list[tuple[int, _Batch]] = []
        self._nested: list[tuple[int, _Batch]] = []
        self._followers: set[Callable[[], None]] = set()
        self._max_running = math.inf

    def limit(self, max_running: int | None) -> None:
        """Limit the tasks that run at once, over all calls; those that run already go on."""
        self._max_running = math.inf if max_running is None else max_running
        self._dispatch()

    def put(self, tasks: Iterable[LiveTask], *, workers: int) -> None:
        """Let all of them run in order, at most `workers` at once; each records that it was queued."""
        batch = _Batch(tasks, max(1, workers))
        for live in batch.waiting:
            live.ticket = next(self._tickets)
            self._line.append(live.ticket)
        for live in tuple(batch.waiting):
            live.record.add(_QUEUED)
        self._offer(batch)
        self._dispatch()

    def position(self, live: LiveTask) -> int | None:
        """Return the position in the queue, from 1; None for a task that does not wait."""
        return None if live.ticket is None else bisect_left(self._line, live.ticket) + 1

    def leave(self, live: LiveTask) -> bool:
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

    def _offer(self, batch: _Batch) -> None:
        while batch.waiting and batch.waiting[0].ticket is None:  # it was cancelled while it waited
            batch.waiting.popleft()
        if batch.waiting and batch.running < batch.workers and not batch.is_offered:
            batch.is_offered = True
            heappush(self._nested if batch.is_nested else self._ready, (batch.waiting[0].ticket or 0, batch))

    def _dispatch(self) -> None:
        while not self._is_beginning and (batch := self._next()) is not None:
            batch.is_offered = False
            live = batch.waiting.popleft() if batch.waiting else None
            if live is not None and self.leave(live):
                batch.running += 1
                self._running += not batch.is_nested
                self._is_beginning = self._is_shuffled
                live.work = self._group.create_task(self._run(live, batch), name=live.task.id, context=live.origin)
            self._offer(batch)

    def _next(self) -> _Batch | None:
        """Return the batch whose first task may run now."""
        if self._nested:
            return heappop(self._nested)[1]
        if self._ready and self._running < self._max_running:
            return heappop(self._ready)[1]
        return None

    async def _run(self, live: LiveTask, batch: _Batch) -> None:
        is_beginning = True

        def begun() -> None:
            nonlocal is_beginning
            if is_beginning:
                is_beginning = self._is_beginning = False
                self._dispatch()

        try:
            await self._work(live, begun)
        finally:
            batch.running -= 1
            self._running -= not batch.is_nested
            self._offer(batch)
            begun()
            self._dispatch()
