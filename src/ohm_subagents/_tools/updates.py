"""Live frames of one call: throttled, never repeated, never one behind."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from ohm_subagents._plugins.hooks.specs import PROJECT
from ohm_subagents.contract.events import RunEnded, TaskQueued
from ohm_subagents.contract.replies import Missing, TasksReply

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from ohm_subagents._plugins.suites.tool import JsonObject, OnUpdate, ToolResult
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.replies import Reply

logger = logging.getLogger(PROJECT)
_NOISE_S = 1e-6
"""Sums of seconds are not exact."""


class Frames:
    """A frame is the result as it would be now. A step that comes too soon waits for its time, and many of them share
    one frame; the last frame is the result, and comes at once. With a beat there is a frame that often, changed or not.
    """

    def __init__(
        self,
        on_update: OnUpdate,
        project: Callable[[Reply], ToolResult],
        *,
        throttle_ms: int,
        beat_ms: int | None = None,
    ) -> None:
        self._on_update = on_update
        self._project = project
        self._throttle_s = throttle_ms / 1000
        self._beat_s = None if beat_ms is None else beat_ms / 1000
        self._newest: Callable[[], Reply] | None = None
        self._due = anyio.Event()
        self._late: Callable[[], Reply] | None = None
        self._shown_at = float("-inf")
        self._shown: ToolResult | None = None

    def step(self, snapshot: Callable[[], Reply], event: Event | None) -> None:
        """Show the new state now, or when its time has come."""
        self._newest = snapshot
        if isinstance(event, TaskQueued | RunEnded):  # the task shows them by what follows
            return
        if anyio.current_time() - self._shown_at >= self._throttle_s - _NOISE_S:
            self._show(snapshot)
        else:
            self._late = snapshot
            self._due.set()

    def last(self, result: ToolResult) -> None:
        """Show the result, unless it was shown already; a call that never showed anything stays silent."""
        self._late = None
        if self._shown is not None:
            self._emit(result)

    @asynccontextmanager
    async def flowing(self) -> AsyncGenerator[None]:
        """Show steps that came too soon in time, while this is open."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._catch_up)
            if self._beat_s is not None:
                group.start_soon(self._beat, self._beat_s)
            yield
            group.cancel_scope.cancel()

    async def _catch_up(self) -> None:
        while True:
            await self._due.wait()
            await anyio.sleep_until(self._shown_at + self._throttle_s)
            self._due = anyio.Event()
            if self._late is not None:
                self._show(self._late)

    async def _beat(self, beat_s: float) -> None:
        since = anyio.current_time()
        while True:
            await anyio.sleep_until(since + beat_s)
            if self._shown_at > since:
                since = self._shown_at
                continue
            if self._newest is not None:
                self._show(self._newest, again=True)
            since = anyio.current_time()

    def _show(self, snapshot: Callable[[], Reply], *, again: bool = False) -> None:
        self._late = None
        reply = snapshot()
        if self._shown is None or not _is_over(reply):
            self._emit(self._project(reply), again=again)

    def _emit(self, frame: ToolResult, *, again: bool = False) -> None:
        if not again and self._shown is not None and _says(frame) == _says(self._shown):
            return
        self._shown, self._shown_at = frame, anyio.current_time()
        try:
            self._on_update(frame)
        except KeyboardInterrupt:
            raise
        except BaseException:  # who watches changes nothing, not even by failing
            logger.exception("A progress callback raised; it is not called again.")
            self._on_update = _ignored


def _says(frame: ToolResult) -> tuple[str, JsonObject]:
    """Return what a frame says: not every suite has in its details what its text shows."""
    return frame.text, frame.details


def _is_over(reply: Reply) -> bool:
    """Return True for a wait with nothing left to wait for: its result follows at once."""
    return isinstance(reply, TasksReply) and all(
        isinstance(item, Missing) or item.task.is_terminal for item in reply.items
    )


def _ignored(_frame: ToolResult) -> None:
    pass
