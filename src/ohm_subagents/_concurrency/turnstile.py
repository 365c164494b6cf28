"""Divide a crowd of calls over turns of the event loop, so that the first ones get on while the last ones come."""

from __future__ import annotations

from typing import Final

import anyio
from anyio.lowlevel import checkpoint

IN_TURN: Final = 25
"""The calls that begin in one turn: enough that each turn is worth its cost, few enough that it is over in 10 ms."""


class _Group:
    """Calls that wait for the same turn; the first of them sees to it that it comes."""

    def __init__(self) -> None:
        self.count = 1
        self.is_through = anyio.Event()


class Turnstile:
    """Lets so many calls through in one turn of the event loop; the others follow in order, as many in each turn.

    Without it, all of a thousand calls would be planned before the first of their tasks begins. A call that is alone
    waits for nothing, but for a turn after so many of them.
    """

    def __init__(self, most: int = IN_TURN) -> None:
        self._most = most
        self._left = most
        self._last: _Group | None = None

    def passes(self) -> bool:
        """Let a call through that need not wait; else it has to wait for its `turn`."""
        if not self._left:
            return False
        self._left -= 1
        return True

    async def turn(self) -> None:
        """Wait for the turn of a call."""
        if self._last is None or self._last.count == self._most:
            await self._lead(self._last)
        else:
            self._last.count += 1
            await self._last.is_through.wait()

    async def _lead(self, before: _Group | None) -> None:
        """Wait for the next turn, or for that of the group before, and let a group through then."""
        group = self._last = _Group()
        try:
            await (checkpoint() if before is None else before.is_through.wait())
        finally:
            group.is_through.set()
            if self._last is group:
                self._last, self._left = None, self._most - group.count
