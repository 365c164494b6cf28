"""Tasks that suites start."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from ohm_subagents._concurrency.faults import as_exception
from ohm_subagents._concurrency.leavable_group import GRACE_S, leavable_group

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from anyio.abc import TaskGroup

    from ohm_subagents._orchestrator.observe.logger import Logger


class Background:
    """Start tasks that are not awaited; one that raises is logged, and the others go on."""

    def __init__(self, group: TaskGroup, logger: Logger) -> None:
        self._group = group
        self._logger = logger

    def spawn(self, work: Callable[[], Awaitable[None]]) -> None:
        """Begin the work as soon as the event loop gets to it; nothing begins in an event loop that ends."""
        run = self._run(work)
        try:
            self._group.start_soon(lambda: run)
        except RuntimeError:  # the event loop has ended the group first
            run.close()

    async def within(self, seconds: float, work: Callable[[], Awaitable[object]]) -> None:
        """Wait until some work is done, at most for so many seconds."""
        done = anyio.Event()

        async def play() -> None:
            try:
                await work()
            finally:
                done.set()

        self.spawn(play)
        with anyio.move_on_after(seconds):
            await done.wait()

    async def _run(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except BaseException as exc:
            raised = as_exception(exc)
            self._logger.exception("background.raised", work=repr(work), exc_info=raised)


@asynccontextmanager
async def background(logger: Logger) -> AsyncGenerator[Background]:
    """Own the tasks: cancel those that still run on leaving, and leave to itself what does not end then."""

    def left() -> None:
        logger.error("background.left", reason=f"it did not end within {GRACE_S:.0f} s of being cancelled")

    async with leavable_group(left) as group:
        try:
            yield Background(group, logger)
        finally:
            group.cancel_scope.cancel()
