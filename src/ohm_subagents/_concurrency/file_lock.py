"""A lock that one process holds at a time: an open file, locked."""

from __future__ import annotations

import fcntl
import os
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._concurrency.event_loop import caller_from_threads

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator
    from pathlib import Path

    Wake = Callable[[OSError | None], None]

_guard: Final = Lock()
_awaited: Final[dict[Path, set[Wake]]] = {}
"""The waiters of each file, to be woken when it is free; a thread waits for each file."""


@contextmanager
def try_lock(file: Path) -> Generator[bool]:
    """Lock without waiting; give False if another process holds the file, True where no lock is possible."""
    with ExitStack() as stack:
        try:
            is_free = stack.enter_context(try_hold(file))
        except OSError:
            is_free = True
        yield is_free


@contextmanager
def try_hold(file: Path) -> Generator[bool]:
    """Lock without waiting; give True if the file is held. Raises `OSError` where no lock is possible."""
    descriptor = _tried(file)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            _give_back(file, descriptor)


@asynccontextmanager
async def locked(file: Path) -> AsyncGenerator[OSError | None]:
    """Hold this file alone among all processes; it is removed afterwards. A process that dies leaves it unlocked.

    Gives the reason where no such file or no lock on it is possible: then nothing is held.
    """
    descriptor, reason = None, None
    try:
        descriptor = await _taken(file)
    except OSError as error:
        reason = error
    try:
        yield reason
    finally:
        if descriptor is not None:
            _give_back(file, descriptor)


def _give_back(file: Path, descriptor: int) -> None:
    with suppress(OSError):
        file.unlink()
    os.close(descriptor)


async def _taken(file: Path) -> int:
    """Return the open file, locked by us. Raises `OSError` if that is impossible."""
    while (descriptor := _tried(file)) is None:
        await _freed(file)
    return descriptor


def _tried(file: Path) -> int | None:
    """Return the open file, locked by us; None if another process holds it, or held it just now. Never waits.

    Not in a thread: a caller that is cancelled meanwhile would lose the descriptor that it has to close.
    """
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with ExitStack() as opened:
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        opened.callback(os.close, descriptor)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return None
        if not _is_still(file, descriptor):  # its holder has removed it
            return None
        opened.pop_all()
        return descriptor


def _is_still(file: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(file.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


async def _freed(file: Path) -> None:
    """Wait until another try may succeed. Raises `OSError` if the file cannot be waited for.

    No other process can set an event here, and the call that waits for the lock cannot be interrupted. So each file has
    a thread, which goes on without waiters, for those to come, and ends with the process.
    """
    freed, call_soon = anyio.Event(), caller_from_threads()
    reason: OSError | None = None

    def wake(error: OSError | None) -> None:
        nonlocal reason
        reason = error
        with suppress(RuntimeError):  # the event loop is closed, and its waiters with it
            call_soon(freed.set)

    with _guard:
        if file not in _awaited:
            Thread(target=_wait, args=(file,), name="ohm-subagents session lock", daemon=True).start()
        wakes = _awaited.setdefault(file, set())
        wakes.add(wake)
    try:
        await freed.wait()
    finally:
        # Without the guard: a call whose event loop is closed is collected at any time, in any thread.
        wakes.discard(wake)
    if reason is not None:
        raise OSError(reason.errno, reason.strerror)


def _wait(file: Path) -> None:
    """Wait in a thread until the lock is free; it is not kept, since no waiter may be left to take it."""
    reason = None
    try:
        _outwait(file)
    except FileNotFoundError:
        pass
    except OSError as error:
        reason = error
    with _guard:
        wakes = tuple(_awaited.pop(file))
    for wake in wakes:
        wake(reason)


def _outwait(file: Path) -> None:
    with ExitStack() as opened:
        descriptor = os.open(file, os.O_RDWR)
        opened.callback(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if _is_still(file, descriptor):  # its holder has died
            with suppress(OSError):
                file.unlink()
