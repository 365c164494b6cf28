"""A run that waits for an answer: no clock of it counts, nor of those above it, and its slot is free."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from ohm_subagents._concurrency.event_loop import loop_clock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from contextlib import AbstractAsyncContextManager

    from ohm_subagents._orchestrator.run.running_task import RunningTask

    Slot = Callable[[RunningTask], AbstractAsyncContextManager[None]]


@asynccontextmanager
async def parked(live: RunningTask, without_slot: Slot) -> AsyncGenerator[None]:
    """Stop the clocks of a task and of those above it, and give its slot back, while this is open."""
    guards = [one.guard for one in lineage(live) if one.guard is not None]
    ledger, now = live.caller.ledger, loop_clock()
    for guard in guards:
        guard.pause(entirely=True)
    ledger.park(now())
    try:
        async with without_slot(live):
            yield
    finally:
        for guard in guards:
            guard.resume(entirely=True)
        ledger.unpark(now())
        live.record.tell_remaining()


def lineage(live: RunningTask) -> tuple[RunningTask, ...]:
    """Return a task that runs here with those above it, the root first."""
    found = [live]
    while (parent := found[-1].parent) is not None:
        found.append(parent)
    return tuple(reversed(found))
