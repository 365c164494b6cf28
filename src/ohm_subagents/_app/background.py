"""Tasks that suites start."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from ohm_subagents._plugins.faults import kept

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from anyio.abc import TaskGroup

    from ohm_subagents._orchestrator.log import Logger


class Background:
    """Starts tasks of which nobody awaits the end; one that raises is logged and costs nobody else anything."""

    def __init__(self, group: TaskGroup, logger: Logger) -> None:
        self._group = group
        self._logger = logger

    def spawn(self, work: Callable[[], Awaitable[None]]) -> None:
        """Begin the work as soon as the event loop gets to it."""
        self._group.start_soon(self._run, work)

    async def _run(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except BaseException as exc:
            raised = kept(exc)
            self._logger.exception("background.raised", work=repr(work), exc_info=raised)


@asynccontextmanager
async def background(logger: Logger) -> AsyncGenerator[Background]:
    """Owns the tasks: whatever still runs on leaving is cancelled."""
    async with anyio.create_task_group() as group:
        yield Background(group, logger)
        group.cancel_scope.cancel()
