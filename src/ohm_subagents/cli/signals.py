"""Ctrl-C and SIGTERM as a cancelled scope: the work is asked to end, and nothing is left behind."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, TypeVar

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.abc import TaskStatus

T = TypeVar("T")


async def until_signal(work: Callable[[], Awaitable[T]]) -> T | signal.Signals:
    """The result of `work`, or the signal that cancelled it. A second Ctrl-C during the clean-up ends the program."""
    caught: list[signal.Signals] = []
    done: list[T] = []
    async with anyio.create_task_group() as group:
        await group.start(_cancel_on_signal, group.cancel_scope, caught)
        done.append(await work())
        group.cancel_scope.cancel()
    return done[0] if done else caught[0]


async def _cancel_on_signal(
    scope: anyio.CancelScope, caught: list[signal.Signals], *, task_status: TaskStatus[None]
) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for number in signals:
            caught.append(number)
            scope.cancel()
            return
