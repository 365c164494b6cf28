"""Who may use a session: one call at a time, of all the processes that keep their sessions in one place."""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING

import anyio
from anyio import RunFinishedError, from_thread, to_thread
from anyio.lowlevel import current_token

from ohm_subagents._plugins.abort import either

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path


class Turns:
    """Lets one call at a time into a session; those of this `Ohm` wait in the order in which they came."""

    def __init__(self) -> None:
        self._locks: dict[Path, anyio.Lock] = {}
        self._users: Counter[Path] = Counter()

    @asynccontextmanager
    async def turn(self, session: Path, abort: anyio.Event | None) -> AsyncGenerator[bool]:
        """The session in this file is ours until this is left; False if `abort` was set before it was."""
        lock = self._locks.setdefault(session, anyio.Lock())
        self._users[session] += 1
        try:
            async with AsyncExitStack() as held:

                async def enter() -> None:
                    await held.enter_async_context(lock)
                    await held.enter_async_context(_locked(session.with_suffix(".lock")))

                yield not await either(enter, abort)
        finally:
            self._users[session] -= 1
            if not self._users[session]:
                del self._users[session], self._locks[session]


@asynccontextmanager
async def _locked(file: Path) -> AsyncGenerator[None]:
    """No other process is in here with this file, which is gone afterwards; a process that dies leaves it unlocked.

    Where there can be no such file, or no lock on it, there is none: reading or writing the session says why.
    """
    descriptor = None
    with suppress(OSError):
        descriptor = await _taken(file)
    try:
        yield
    finally:
        if descriptor is not None:
            _give_back(file, descriptor)


def _give_back(file: Path, descriptor: int) -> None:
    with suppress(OSError):
        file.unlink()
    os.close(descriptor)


async def _taken(file: Path) -> int:
    """The open file, locked by us; raises OSError if there can be none."""
    while True:
        descriptor, is_ours = await to_thread.run_sync(_tried, file)
        if not is_ours:
            await _granted(descriptor)
        if _is_still(file, descriptor):
            return descriptor
        os.close(descriptor)  # who had it has removed it


def _tried(file: Path) -> tuple[int, bool]:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return descriptor, False
    except OSError:
        os.close(descriptor)
        raise
    return descriptor, True


def _is_still(file: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(file.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


async def _granted(descriptor: int) -> None:
    """Until the lock is ours; the file is closed if we are cancelled.

    No other process sets an event here, and the call that waits for it cannot be interrupted. So it has a thread of its
    own: when nobody waits for it any more, the thread gives the lock back as soon as it has it, or ends with the
    process.
    """
    granted, token, is_awaited = anyio.Event(), current_token(), True

    def told() -> None:
        if is_awaited:
            granted.set()
        else:
            os.close(descriptor)

    def wait() -> None:
        with suppress(OSError):  # then there is no lock to wait for
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            from_thread.run_sync(told, token=token)
        except RunFinishedError:
            os.close(descriptor)

    Thread(target=wait, name="ohm-subagents session lock", daemon=True).start()
    try:
        await granted.wait()
    except BaseException:
        is_awaited = False
        if granted.is_set():
            os.close(descriptor)
        raise
