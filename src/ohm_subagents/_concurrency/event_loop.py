"""The event loop that runs us, for the few places where that matters."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, cast

import anyio
from anyio.lowlevel import current_token

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from anyio.lowlevel import EventLoopToken

    _Caller = Callable[[Callable[[], object]], object]

_alone: Final[set[object]] = set()
"""The loop itself keeps no task alive."""


def on_asyncio() -> bool:
    """Tell asyncio, with any event loop of its kind, from trio."""
    return _is_of_asyncio(current_token())


def _is_of_asyncio(token: EventLoopToken) -> bool:
    return "asyncio" in token.backend_class.__module__


def loop_finder() -> Callable[[], object]:
    """Return a function that gives the running event loop of this kind, and raises `RuntimeError` without one.

    anyio's own functions look for the kind at each call, which takes longer than what is asked of it.
    """
    if on_asyncio():
        import asyncio  # noqa: PLC0415, TID251  see above

        return asyncio.get_running_loop
    import trio.lowlevel  # noqa: PLC0415  only who runs on it has it

    return trio.lowlevel.current_trio_token


def loop_clock() -> Callable[[], float]:
    """Return the clock of the running event loop, which counts seconds."""
    if on_asyncio():
        import asyncio  # noqa: PLC0415, TID251  as above

        return asyncio.get_running_loop().time
    import trio  # noqa: PLC0415  only who runs on it has it

    return trio.current_time


def caller_from_threads() -> _Caller:
    """Return a function that calls another one soon in this event loop, from any thread, and does not wait for it.

    It raises `RuntimeError` once the loop is closed.
    """
    return _caller(current_token(), "call_soon_threadsafe")


def callers() -> tuple[_Caller, _Caller]:
    """Return `caller_from_threads()`, and for the thread of this event loop one that wakes nothing.

    The second calls in the next turn of the loop, when all has run that is ready now.
    """
    token = current_token()
    return _caller(token, "call_soon_threadsafe"), _caller(token, "call_soon")


def _caller(token: EventLoopToken, name: str) -> _Caller:
    found = getattr(token.native_token, name if _is_of_asyncio(token) else "run_sync_soon")
    return cast("_Caller", found)


def is_being_cancelled() -> bool:
    """Return True while the current task is being stopped: by a scope of anyio, or on asyncio by its own `cancel`.

    `asyncio.wait_for`, `asyncio.timeout` and `Task.cancel` cancel no scope.
    """
    if anyio.current_effective_deadline() == -math.inf:
        return True
    if not on_asyncio():
        return False
    import asyncio  # noqa: PLC0415, TID251  anyio does not tell

    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


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
