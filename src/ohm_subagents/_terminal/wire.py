"""Lines of JSON over the standard streams of this process; imports nothing heavy.

While the wire is open, standard input is empty and standard output is standard error: what a plugin or a child process
prints by mistake does not reach the client.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio
from anyio.lowlevel import checkpoint

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

MAX_MESSAGE_BYTES: Final = 4 * 1024 * 1024
"""The longest message that is read, in bytes."""
_CHUNK: Final = 65_536
_WRITE: Final = 4_096
"""A stream that is ready takes so many bytes without blocking (PIPE_BUF)."""
_END: Final = 1_024
_ID_NEAR: Final = re.compile(rb'[{,]\s*"id"\s*:\s*(-?\d+|"[^"\\]{0,200}")\s*[,}]')


class TooLong(NamedTuple):
    """A line that was longer than `MAX_MESSAGE_BYTES`, and is not kept."""

    size: int
    """Its length in bytes."""
    request_id: int | str | None
    """The id of the request in it, as far as its first and last bytes tell."""


class Wire:
    """Reads and writes lines; one task reads, and one at a time writes."""

    def __init__(self, source: int, target: int) -> None:
        self._source = source
        self._target = target
        self._waits_to_read = _can_wait(source)
        self._waits_to_write = _can_wait(target)

    async def lines(self) -> AsyncGenerator[bytes | TooLong]:
        """Yield each line without its end, until the client closes the stream."""
        rest = bytearray()
        beginning, size = b"", 0
        while chunk := await self._chunk():
            *ended, new = chunk.split(b"\n")
            for end in ended:
                rest += end
                if size or len(rest) > MAX_MESSAGE_BYTES:
                    yield TooLong(size + len(rest), _id_in(beginning or bytes(rest[:_END]), bytes(rest[-_END:])))
                elif rest.strip():
                    yield bytes(rest)
                rest, beginning, size = bytearray(), b"", 0
            rest += new
            if len(rest) > MAX_MESSAGE_BYTES:
                beginning, size = beginning or bytes(rest[:_END]), size + len(rest) - _END
                rest = rest[-_END:]

    async def write(self, line: bytes) -> None:
        """Write a line, which ends in its line feed. Raises OSError when the client has closed the stream."""
        await checkpoint()
        for begin in range(0, len(line), _WRITE):
            part = line[begin : begin + _WRITE]
            while part:
                if self._waits_to_write:
                    await anyio.wait_writable(self._target)
                part = part[os.write(self._target, part) :]

    async def _chunk(self) -> bytes:
        if self._waits_to_read:
            await anyio.wait_readable(self._source)
        else:
            await checkpoint()
        return os.read(self._source, _CHUNK)


@contextmanager
def standard_wire() -> Generator[Wire]:
    """Take the standard streams of this process for a wire, and give them back."""
    sys.stdout.flush()
    source, target, nothing = os.dup(0), os.dup(1), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    try:
        yield Wire(source, target)
    finally:
        sys.stdout.flush()
        os.dup2(source, 0)
        os.dup2(target, 1)
        for each in (source, target, nothing):
            os.close(each)


def message_too_long(size: int) -> str:
    """Return the sentence that refuses a message of so many bytes."""
    limit = MAX_MESSAGE_BYTES // 1024**2
    return (
        f"The message has {size} bytes; allowed: {MAX_MESSAGE_BYTES} ({limit} MiB). "
        "Write large input to a file, and name its path in the prompt."
    )


def request_id_in_use(request_id: object) -> str:
    """Return the sentence that refuses a second request with an id that is in use."""
    return f"The request id {request_id!r:.80} is in use by a request that goes on. Give each request an id of its own."


def _can_wait(stream: int) -> bool:
    """Return False for a file or a device that is always ready, on which an event loop cannot wait."""
    mode = os.fstat(stream).st_mode
    return not stat.S_ISREG(mode) and (not stat.S_ISCHR(mode) or os.isatty(stream))


def _id_in(beginning: bytes, end: bytes) -> int | str | None:
    """Return the id of a request of which only the two ends are known: a client writes it before or after `params`."""
    for part in (beginning.partition(b'"params"')[0], end[end.rfind(b"}", 0, end.rfind(b"}")) :]):
        found = _ID_NEAR.search(part)
        if found is not None:
            text = found[1].decode(errors="replace")
            return text[1:-1] if text.startswith('"') else int(text)
    return None
