"""One sleeping task for the timers of all runs of an `Ohm`: a task for each would cost more than a short run does."""

from __future__ import annotations

import math
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Protocol

import anyio

from ohm_subagents._concurrency.event_loop import loop_clock

if TYPE_CHECKING:
    from anyio.abc import TaskGroup


class Slot:
    """A time in the heap of `Timers`; without a timer it is passed over."""

    __slots__ = ("at", "timer")

    def __init__(self, at: float, timer: Timer) -> None:
        self.at = at
        self.timer: Timer | None = timer


class Timer(Protocol):
    """An object that is to be called at some time."""

    slot: Slot | None
    """Belongs to `Timers`; None to begin with."""

    @property
    def due_at(self) -> float:
        """The time in seconds of the event loop's clock, infinite for never. May move to later without notice."""
        ...

    def fire(self) -> None:
        """Act: `due_at` has come."""
        ...


class Timers:
    """Fires each timer when it is due. One that moved to later is looked at again when its old time has come.

    Fields:
        now: the clock of the event loop, in seconds.
    """

    def __init__(self, group: TaskGroup) -> None:
        self._order = count()
        self._heap: list[tuple[float, int, Slot]] = []
        self._sleep_scope = anyio.CancelScope()
        self._run_scope = anyio.CancelScope()
        self.now = loop_clock()
        self._group = group
        self._is_running = False
        self._users = 0

    def set(self, timer: Timer) -> None:
        """Watch a timer that is new, or that is due earlier than before."""
        at, former = timer.due_at, timer.slot
        if math.isinf(at) or (former is not None and at >= former.at):
            return
        if former is not None:
            former.timer = None
        timer.slot = Slot(at, timer)
        heappush(self._heap, (at, next(self._order), timer.slot))
        if not self._is_running:
            self._is_running = True
            self._group.start_soon(self._run)
        elif at < self._sleep_scope.deadline:
            self._sleep_scope.deadline = at

    def join(self) -> None:
        """Count a run that has begun."""
        self._users += 1

    def leave(self, timer: Timer) -> None:
        """Forget the timer of a run that is over.

        After the last one the sleep goes on: waking once in vain costs less than each reset of it.
        """
        if timer.slot is not None:
            timer.slot.timer = None
            timer.slot = None
        self._users -= 1
        if not self._users:
            self._heap.clear()

    def close(self) -> None:
        """End the sleeping task."""
        self._run_scope.cancel()

    async def _run(self) -> None:
        with self._run_scope:
            while True:
                with anyio.CancelScope(deadline=self._heap[0][0] if self._heap else math.inf) as self._sleep_scope:
                    await anyio.sleep_forever()
                self._fire_due(self.now())

    def _fire_due(self, now: float) -> None:
        while self._heap and self._heap[0][0] <= now:
            timer = heappop(self._heap)[2].timer
            if timer is None:
                continue
            timer.slot = None
            if timer.due_at <= now:
                timer.fire()
            self.set(timer)
