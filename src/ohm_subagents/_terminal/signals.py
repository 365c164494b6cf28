"""End the work on Ctrl-C, SIGTERM and a closed terminal, and leave nothing behind."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

import anyio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Generator

    from anyio.abc import TaskStatus

T = TypeVar("T")
ABORT_GRACE_S: Final = 10.0


async def until_signal(work: Callable[[], Awaitable[T]]) -> T | signal.Signals:
    """Return the result of `work`, or the signal that cancelled it; a second Ctrl-C while it ends stops the program."""
    done, caught = await _with_signals(work, None)
    return done[0] if done else caught[0]


async def aborted_by_signal(
    work: Callable[[anyio.Event], Awaitable[T]],
) -> tuple[T | None, signal.Signals | None]:
    """Return the result of `work`, or None if it was cancelled first, and the signal that set its event, if any."""
    abort = anyio.Event()

    async def abortable() -> T:
        return await work(abort)

    done, caught = await _with_signals(abortable, abort)
    return (done[0] if done else None), (caught[0] if caught else None)


async def _with_signals(
    work: Callable[[], Awaitable[T]], abort: anyio.Event | None
) -> tuple[list[T], list[signal.Signals]]:
    caught: list[signal.Signals] = []
    done: list[T] = []
    async with anyio.create_task_group() as group:
        await group.start(_cancel_on_signal, group.cancel_scope, caught, abort)
        done.append(await work())
        group.cancel_scope.cancel()
    return done, caught


async def _cancel_on_signal(
    scope: anyio.CancelScope,
    caught: list[signal.Signals],
    abort: anyio.Event | None,
    *,
    task_status: TaskStatus[None],
) -> None:
    with _received() as signals:
        task_status.started()
        async for number in signals:
            caught.append(number)
            break
    if caught == [signal.SIGHUP]:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # shell and kernel both send one; the second must not kill
    if abort is not None:
        abort.set()
        await anyio.sleep(ABORT_GRACE_S)
    scope.cancel()


@contextmanager
def _received() -> Generator[AsyncIterator[signal.Signals]]:
    """Receive SIGHUP too, unless this program is meant to outlive the terminal (`nohup`)."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    with anyio.open_signal_receiver(*numbers) as signals:
        yield signals
