"""Task groups that can be left: work that resists its cancellation is left behind, and blocks no one."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, cast

import anyio

from ohm_subagents._concurrency.event_loop import begin_alone

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from anyio.abc import TaskGroup

GRACE_S: Final = 5.0
"""The seconds that cancelled work may take to clean up."""


class _Root:
    """A task without a parent, in which a group is open until its owner leaves it. The event loop ends the rest."""

    def __init__(self) -> None:
        self.opened = anyio.Event()
        self.leaving = anyio.Event()
        self.closed = anyio.Event()
        self.body = anyio.CancelScope()
        self.group: TaskGroup
        self.raised: BaseException | None = None

    async def keep(self) -> None:
        """Hold the group open; what breaks in it ends the owner's work, as it would in a group of its own."""
        try:
            async with anyio.create_task_group() as self.group:
                self.opened.set()
                await self.leaving.wait()
        except BaseException as exc:  # noqa: BLE001  no task is above; the owner raises it
            self.raised = _beside_cancellation(exc)
            self.body.cancel()
        finally:
            self.closed.set()


@asynccontextmanager
async def leavable_group(
    left: Callable[[], object] = lambda: None, *, grace: Callable[[], float] = lambda: GRACE_S
) -> AsyncGenerator[TaskGroup]:
    """Open a task group that is left after `grace` seconds at most; `left` is called if a task has not ended by then.

    The owner must ask them to end before it leaves. Everything else is as in a task group.
    """
    root = _Root()
    begin_alone(root.keep)
    with anyio.CancelScope(shield=True):
        await root.opened.wait()
    try:
        with root.body:
            yield root.group
    finally:
        root.leaving.set()
        with anyio.CancelScope(shield=True, deadline=anyio.current_time() + grace()):
            await root.closed.wait()
        if not root.closed.is_set():
            left()
    if root.raised is not None:
        raise root.raised


def _beside_cancellation(error: BaseException) -> BaseException | None:
    """Return the error without its cancellations; None if it has nothing else."""
    cancelled = anyio.get_cancelled_exc_class()
    if isinstance(error, BaseExceptionGroup):
        return cast("BaseExceptionGroup[BaseException]", error).split(cancelled)[1]
    return None if isinstance(error, cancelled) else error
