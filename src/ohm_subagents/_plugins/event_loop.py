"""The event loop that runs us, for the few places where that matters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from anyio.lowlevel import current_token

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_alone: Final[set[object]] = set()
"""The loop itself keeps no task alive."""


def on_asyncio() -> bool:
    """Tell asyncio, with any event loop of its kind, from trio."""
    return "asyncio" in current_token().backend_class.__module__


def begin_alone(work: Callable[[], Coroutine[object, object, None]]) -> None:
    """Run it as a task that no other task waits for: the loop alone ends it, with itself. It must not raise."""
    if on_asyncio():
        import asyncio  # noqa: PLC0415, TID251  anyio has no task without an owner

        task = asyncio.get_running_loop().create_task(work())
        _alone.add(task)
        task.add_done_callback(_alone.discard)
    else:
        import trio.lowlevel  # noqa: PLC0415  only who runs on it has it

        trio.lowlevel.spawn_system_task(work)
