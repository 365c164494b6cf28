"""Our ends of the pipes of a process, on either event loop.

They are ours and not the event loop's, because its own are read ahead without need, and on some versions a process has
not ended before whoever inherited its pipes has.
"""

import fcntl
import os
import struct
import termios
from typing import Final

import anyio

_CHUNK: Final = 1 << 18


class Outlet:
    """The end from which we read what a process writes. One reader at a time."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor: int | None = descriptor
        self._rest = b""

    async def read(self) -> bytes:
        """Read at least one byte; nothing at the end, or once everything is read that was there on closing."""
        while self._descriptor is not None:
            try:
                await anyio.wait_readable(self._descriptor)
                if chunk := self._take():
                    return chunk
            except (BlockingIOError, anyio.ClosedResourceError):
                continue
            self.close()
        rest, self._rest = self._rest, b""
        return rest

    def _take(self) -> bytes:
        """Between the waking and us, the pipe may have been closed."""
        return b"" if self._descriptor is None else os.read(self._descriptor, _CHUNK)

    def close(self) -> None:
        """Take what is in the pipe now, which is not much, and nothing more, even if a process still writes."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        waiting = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4))[0]
        parts: list[bytes] = []
        while waiting > 0 and (part := os.read(descriptor, waiting)):
            parts.append(part)
            waiting -= len(part)
        self._rest = b"".join(parts)
        anyio.notify_closing(descriptor)
        os.close(descriptor)


class Inlet:
    """The end into which we write what a process reads."""

    def __init__(self, descriptor: int) -> None:
        os.set_blocking(descriptor, False)
        self._descriptor: int | None = descriptor
        self._turn = anyio.Lock()

    async def write(self, data: bytes) -> None:
        """Write all of it; what is no longer read is lost."""
        async with self._turn:
            rest = memoryview(data)
            while rest and self._descriptor is not None:
                try:
                    await anyio.wait_writable(self._descriptor)
                    rest = rest[self._give(rest[:_CHUNK]) :]
                except BlockingIOError:
                    continue
                except BrokenPipeError:
                    self.close()
                except anyio.ClosedResourceError:
                    return

    def _give(self, data: memoryview) -> int:
        """Between the waking and us, the pipe may have been closed."""
        return 0 if self._descriptor is None else os.write(self._descriptor, data)

    def close(self) -> None:
        """Let the process read the end of its input."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            anyio.notify_closing(descriptor)
            os.close(descriptor)
