"""Waiting that an event can end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


async def wait_or_abort(wait: Callable[[], Awaitable[object]], abort: anyio.Event | None) -> bool:
    """Wait until `wait` returns or `abort` is set; return True if it was `abort`."""
    if abort is None:
        await wait()
        return False
    aborted = False
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            nonlocal aborted
            await abort.wait()
            aborted = True
            group.cancel_scope.cancel()

        group.start_soon(watch)
        await wait()
        group.cancel_scope.cancel()
    return aborted
