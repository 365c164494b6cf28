"""Bytes as lines: split at line feeds and nothing else, of any length up to a limit, in linear time."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, Self

import anyio

if TYPE_CHECKING:
    from ohm_subagents.shell.pipes import Outlet

LINE_BYTES: Final = 64 << 20
TAIL_BYTES: Final = 16 << 10


class Splitter:
    """Cuts a stream into lines. One that is longer than the limit is dropped and counted."""

    def __init__(self, *, limit: int = LINE_BYTES) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self.dropped = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines that this chunk ends."""
        *ended, begun = chunk.split(b"\n")
        lines: list[bytes] = []
        for piece in ended:
            self._add(piece)
            lines += self.rest()
        self._add(begun)
        return lines

    def rest(self) -> list[bytes]:
        """Return the line so far, at most one; the next one begins."""
        parts, size = self._parts, self._size
        self._parts, self._size = [], 0
        if size > self._limit:
            self.dropped += 1
            return []
        return [b"".join(parts)]

    @property
    def has_begun(self) -> bool:
        """A line has begun."""
        return self._size > 0

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size > self._limit:
            self._parts.clear()
        elif piece:
            self._parts.append(piece)


class Lines:
    """The lines of a pipe, for one reader. Whoever stops reading has nothing to close."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._splitter = Splitter()
        self._ready: deque[bytes] = deque()
        self._is_over = False
        self._reader: int | None = None
        self._turn = anyio.Lock(fast_acquire=True)

    @property
    def dropped(self) -> int:
        """The number of lines that were too long to be kept."""
        return self._splitter.dropped

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        self._reader = anyio.get_current_task().id
        while not self._ready:
            if self._is_over:
                raise StopAsyncIteration
            await self._read()
        return self._ready.popleft()

    async def drop(self, task_id: int) -> None:
        """Read to the end and drop it, so that the process does not wait; unless another task than this one reads."""
        while not self._is_over and self._reader in {None, task_id}:
            await self._read()
            if self._reader in {None, task_id}:
                self._ready.clear()

    async def _read(self) -> None:
        async with self._turn:
            if self._ready or self._is_over:
                return
            if chunk := await self._outlet.read():
                self._ready.extend(self._splitter.feed(chunk))
                return
            self._is_over = True
            if self._splitter.has_begun:
                self._ready.extend(self._splitter.rest())


class Tail:
    """The end of what a pipe brought."""

    def __init__(self, outlet: Outlet) -> None:
        self._outlet = outlet
        self._kept = bytearray()

    async def drain(self) -> None:
        """Read to the end."""
        while chunk := await self._outlet.read():
            self._kept += chunk
            del self._kept[:-TAIL_BYTES]

    @property
    def text(self) -> str:
        """The text that is kept; bytes that are no UTF-8 are replaced."""
        return self._kept.decode("utf-8", "replace")
