"""Waiting for tasks: notified, and polled only for those of another process."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.limits import FOREVER_MS
from ohm_subagents.contract.outcome import Cancelled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents._orchestrator.run.live import LiveTask
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents._plugins.suites.observer import Observer

STOPPED_WITHIN_S: Final = 0.05
"""The time in which a cancellation is to be stored before the run is stopped."""
CALLER_GONE: Final = "The caller stopped waiting."
FOREIGN_LOOK_S: Final = 0.25
"""The interval at which a wait looks at the tasks of other processes."""


def seconds(milliseconds: int | None) -> float:
    """Convert a timeout; None is forever."""
    return math.inf if milliseconds is None or milliseconds > FOREVER_MS else milliseconds / 1000


async def wait_answered(tasks: Iterable[LiveTask]) -> None:
    """Wait until the first prompt of every task is answered."""
    for live in tasks:
        if not live.asked.answered.is_set:
            await live.asked.answered.wait()


async def wait_settled(tasks: Iterable[LiveTask]) -> None:
    """Wait until every task is settled."""
    for live in tasks:
        if not live.task.is_terminal:
            await live.settled.wait()


async def wait_settled_anywhere(tasks: Iterable[LiveTask], ids: Iterable[str], store: Store) -> None:
    """Wait until every task is settled, those of other processes too."""
    await wait_settled(tasks)
    while any(store.is_foreign(TaskId(each)) for each in ids):  # noqa: ASYNC110  another process sets no event here
        await anyio.sleep(FOREIGN_LOOK_S)


async def cancel_all(tasks: Iterable[LiveTask], reason: str, store: Store) -> None:
    """Record tasks as cancelled at once, then stop their runs when that is stored: to unwind them takes longer."""
    for live in tasks:
        live.record.settle(Cancelled(reason=reason))
    try:
        with anyio.move_on_after(STOPPED_WITHIN_S):  # a disk may hang
            await store.flush()
    finally:
        for live in tasks:
            live.stop()


def end_call(started: Iterable[LiveTask], observers: Iterable[Observer], *, background: bool = False) -> None:
    """End a call: cancel what it waited for in vain, and notify its observers no more of tasks that go on."""
    for live in started:
        if not (background or live.asked.answered.is_set):
            live.cancel(CALLER_GONE)
        live.record.observers.remove(*observers)
