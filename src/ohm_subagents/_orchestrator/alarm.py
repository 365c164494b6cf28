"""One alarm clock for all runs of an `Ohm`: a deadline that moves on costs nothing until the old one has come."""

from __future__ import annotations

import math
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Protocol

import anyio

if TYPE_CHECKING:
    from anyio.abc import TaskGroup


class Entry:
    """A time that is set; of one that is set no more, nobody is kept."""

    __slots__ = ("at", "sleeper")

    def __init__(self, at: float, sleeper: Sleeper) -> None:
        self.at = at
        self.sleeper: Sleeper | None = sleeper


class Sleeper(Protocol):
    """Somebody who wants to be woken. `alarm` is the alarm's own note."""

    alarm: Entry | None

    @property
    def wakes_at(self) -> float:
        """When, in seconds of the event loop's clock; never again when it is infinite. May move at any time."""
        ...

    def wake(self) -> None:
        """It is time."""
        ...


class Alarm:
    """Wakes each sleeper when its time has come. A time that moved to later is noticed when the old one comes."""

    def __init__(self, group: TaskGroup) -> None:
        self._order = count()
        self._heap: list[tuple[float, int, Entry]] = []
        self._nap = anyio.CancelScope()
        self._day = anyio.CancelScope()
        self._group = group
        self._is_running = False
        self._awake = 0

    def set(self, sleeper: Sleeper) -> None:
        """The sleeper is new, or wants to be woken earlier than it said before."""
        at = sleeper.wakes_at
        former = sleeper.alarm
        if math.isinf(at) or (former is not None and at >= former.at):
            return
        if former is not None:
            former.sleeper = None
        sleeper.alarm = Entry(at, sleeper)
        heappush(self._heap, (at, next(self._order), sleeper.alarm))
        if not self._is_running:
            self._is_running = True
            self._group.start_soon(self._run)
        elif at < self._nap.deadline:
            self._nap.deadline = at

    def join(self) -> None:
        """A run begins."""
        self._awake += 1

    def leave(self, sleeper: Sleeper) -> None:
        """A run is over. After the last one the nap goes on: waking once in vain costs less than each reset of it."""
        if sleeper.alarm is not None:
            sleeper.alarm.sleeper = None
            sleeper.alarm = None
        self._awake -= 1
        if not self._awake:
            self._heap.clear()

    def close(self) -> None:
        """Nobody is woken any more."""
        self._day.cancel()

    async def _run(self) -> None:
        with self._day:
            while True:
                with anyio.CancelScope(deadline=self._heap[0][0] if self._heap else math.inf) as self._nap:
                    await anyio.sleep_forever()
                self._ring(anyio.current_time())

    def _ring(self, now: float) -> None:
        while self._heap and self._heap[0][0] <= now:
            sleeper = heappop(self._heap)[2].sleeper
            if sleeper is None:
                continue
            sleeper.alarm = None
            if sleeper.wakes_at <= now:
                sleeper.wake()
            self.set(sleeper)
