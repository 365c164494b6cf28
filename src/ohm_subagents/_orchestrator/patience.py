"""Waiting for settled tasks. Notified, never polled, but for one thing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents.contract.events import Cancelled
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.limits import FOREVER_MS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents._orchestrator.run.live import LiveTask
    from ohm_subagents._plugins.stores import Store

STOPPED_WITHIN_S: Final = 0.05
"""So long a cancelled task may go on while it is written down that it is cancelled."""
FOREIGN_LOOK_S: Final = 0.25
"""How often a wait looks at the tasks of other processes (house 9.18)."""


def seconds(milliseconds: int | None) -> float:
    """How long that is; None is for ever."""
    return math.inf if milliseconds is None or milliseconds > FOREVER_MS else milliseconds / 1000


async def answered(tasks: Iterable[LiveTask]) -> None:
    """Until the prompt of every task is answered; follow-ups that others sent are theirs to wait for."""
    for live in tasks:
        if not live.asked.answered.is_set:
            await live.asked.answered.wait()


async def settled(tasks: Iterable[LiveTask]) -> None:
    """Until every task is settled; each wakes the waiter at most once."""
    for live in tasks:
        if not live.task.is_terminal:
            await live.settled.wait()


async def settled_anywhere(tasks: Iterable[LiveTask], ids: Iterable[str], store: Store) -> None:
    """Until every task is settled, those of other processes too."""
    await settled(tasks)
    while any(store.is_foreign(TaskId(each)) for each in ids):  # noqa: ASYNC110  another process sets no event here
        await anyio.sleep(FOREIGN_LOOK_S)


async def cancelled(tasks: Iterable[LiveTask], reason: str, store: Store) -> None:
    """Cancel tasks, on the record at once. What goes on for them ends when that is safe: to unwind it takes longer."""
    for live in tasks:
        live.record.settle(Cancelled(reason=reason))
    try:
        with anyio.move_on_after(STOPPED_WITHIN_S):  # a disk may hang
            await store.flush()
    finally:
        for live in tasks:
            live.stop()
