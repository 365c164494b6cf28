"""The runs of a runner that have ended, and that nobody has acknowledged yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import TaskGroup

    from ohm_subagents.remote.hosted_run import HostedRun


class EndedRuns:
    """Has each of them forgotten in its time. One task waits for all: most are acknowledged at once."""

    def __init__(self, group: TaskGroup, kept_s: float, forget: Callable[[HostedRun], None]) -> None:
        """`forget` is called with a run that was kept for `kept_s` seconds; it calls `discard`."""
        self._group = group
        self._kept_s = kept_s
        self._forget = forget
        self._due: dict[HostedRun, float] = {}
        self._is_waiting = False

    def add(self, run: HostedRun) -> None:
        """Keep a run that has just ended."""
        self._due[run] = anyio.current_time() + self._kept_s
        if not self._is_waiting:
            self._is_waiting = True
            self._group.start_soon(self._forget_old)

    def discard(self, run: HostedRun) -> None:
        """Keep a run no more, if it was kept here."""
        self._due.pop(run, None)

    async def _forget_old(self) -> None:
        while self._due:
            run, due = next(iter(self._due.items()))
            await anyio.sleep_until(due)
            if run in self._due:
                self._forget(run)
        self._is_waiting = False
