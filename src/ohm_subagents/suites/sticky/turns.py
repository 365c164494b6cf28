"""One call at a time in a session, of all processes that keep their sessions in one place."""

from __future__ import annotations

from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from ohm_subagents.files import locked, os_problem
from ohm_subagents.suite import wait_or_abort

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path


class Turns:
    """Lets one call at a time into a session; those of this `Ohm` wait in order."""

    def __init__(self) -> None:
        self._locks: dict[Path, anyio.Lock] = {}
        self._users: Counter[Path] = Counter()

    @asynccontextmanager
    async def turn(self, session: Path, abort: anyio.Event | None) -> AsyncGenerator[tuple[str, ...] | None]:
        """Hold the session in this file while this is open; gives notes for the caller.

        Gives None if `abort` was set before the session was free.
        """
        lock = self._locks.setdefault(session, anyio.Lock())
        self._users[session] += 1
        notes = list[str]()
        try:
            async with AsyncExitStack() as held:

                async def enter() -> None:
                    await held.enter_async_context(lock)
                    reason = await held.enter_async_context(locked(session.with_suffix(".lock")))
                    if reason is not None:
                        notes.append(_unlocked(session, reason))

                yield None if await wait_or_abort(enter, abort) else tuple(notes)
        finally:
            self._users[session] -= 1
            if not self._users[session]:
                del self._users[session], self._locks[session]


def _unlocked(session: Path, reason: OSError) -> str:
    return f"The session file '{session}' cannot be locked, so another process may use it too: {os_problem(reason)}."
