"""Messages over a stream: each is a line of JSON."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, cast

import anyio
from anyio.lowlevel import checkpoint
from anyio.streams.buffered import BufferedByteReceiveStream
from pydantic_core import from_json, to_json

from ohm_subagents.contract.wire.codec import dump, load
from ohm_subagents.contract.wire.versions import VERSIONS, WireError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from anyio.abc import ByteStream

    from ohm_subagents.contract.wire.messages import WireMessage, WireObject

LONGEST: Final = 256 * 1024 * 1024
"""The most bytes of a message."""
MOST_WAITING: Final = 256 * 1024 * 1024
"""The most bytes that wait for one who does not read; then the connection ends."""


class Frames:
    """The messages of one connection. To send one never waits.

    Fields:
        version: the version of the messages that are sent; the oldest, until both sides have agreed on one.
        before: awaited before messages go out: a server tells nothing that its store could still lose.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._lines = BufferedByteReceiveStream(stream)
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._news = anyio.Event()
        self._is_closing = False
        self._has_ended = False
        self.version = VERSIONS[0]
        self._writing = anyio.CancelScope()
        self.before: Callable[[], Awaitable[None]] = checkpoint

    def send(self, message: WireMessage) -> None:
        """Let a message go out after those before it, unless the connection has ended; too much that waits ends it.

        Raises `WireError` if the version cannot say it, and for one that is too long.
        """
        if self._has_ended:
            return
        line = to_json(dump(message, version=self.version, strict=True)) + b"\n"
        if len(line) > LONGEST:
            raise WireError(_too_long(len(line)))
        if self._waiting and self._bytes + len(line) > MOST_WAITING:
            self._has_ended = True
            self._waiting.clear()
            self._writing.cancel()
            return
        self._waiting.append(line)
        self._bytes += len(line)
        self._news.set()

    def finish(self) -> None:
        """Close the connection when all that waits is sent."""
        self._is_closing = True
        self._news.set()

    async def write(self) -> None:
        """Send what waits, until the connection ends, `finish` is called, or too much waits."""
        with self._writing:
            while await self.flush() and not self._is_closing:
                self._news = anyio.Event()
                await self._news.wait()
        if self._has_ended:
            await self.aclose()

    async def flush(self) -> bool:
        """Send what waits; return False if the connection has ended."""
        while self._waiting:
            lines = b"".join(self._waiting)
            self._waiting.clear()
            self._bytes = 0
            await self.before()
            try:
                await self._stream.send(lines)
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return False
        return True

    async def read(self) -> AsyncGenerator[WireMessage]:
        """Yield each message until the connection ends. Raises `WireError` for a line that is none."""
        while True:
            try:
                line = await self._lines.receive_until(b"\n", LONGEST)
            except (anyio.IncompleteRead, anyio.BrokenResourceError, anyio.ClosedResourceError):
                return
            except anyio.DelimiterNotFound:
                raise WireError(_too_long(LONGEST + 1)) from None
            try:
                fields: object = from_json(line)
            except ValueError as invalid:
                wrong = f"A line is no JSON: {invalid}."
                raise WireError(wrong) from None
            if not isinstance(fields, dict):
                raise WireError("A line is no JSON object.")
            yield load(cast("WireObject", fields))

    async def aclose(self) -> None:
        """Close the connection at once; what is sent later is dropped."""
        self._has_ended = True
        self._waiting.clear()
        with anyio.CancelScope(shield=True):
            await self._stream.aclose()


def _too_long(size: int) -> str:
    return f"A message of {size} bytes is longer than the {LONGEST} that a server and a program take."
