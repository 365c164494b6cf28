"""Simulated seconds: time stands while anybody works, be it in a thread, and else jumps to whatever is due next."""

import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import trio
from anyio import to_thread
from trio.testing import MockClock, wait_all_tasks_blocked

LAST_S = 0.0005
"""Real seconds; whoever waits for all others to be blocked is told before time jumps."""


def standing() -> MockClock:
    """A clock that stands unless it is told to jump. Its own jumps would not wait for a file to be read."""
    return MockClock()


@asynccontextmanager
async def passing_time() -> AsyncGenerator[None]:
    """While this is open, time passes on a `standing` clock."""
    async with anyio.create_task_group() as group:
        group.start_soon(_pass)
        yield
        group.cancel_scope.cancel()


async def _pass() -> None:
    clock = trio.lowlevel.current_clock()
    assert isinstance(clock, MockClock)
    while True:
        await wait_all_tasks_blocked(LAST_S)
        due_s = trio.lowlevel.current_statistics().seconds_to_next_deadline
        if 0 < due_s < math.inf and not to_thread.current_default_thread_limiter().borrowed_tokens:
            clock.jump(due_s)
