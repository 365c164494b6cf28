"""A text file on disk, opened and read so that no file can hurt: a pipe, a link, a binary, a line without end."""

import os
import stat
from collections.abc import Iterator
from typing import IO, Final

from ohm_subagents._backends.in_process.tools.failure import fail
from ohm_subagents._backends.in_process.tools.place import Place

RECORD_BYTES: Final = 16_384  # of one line; the rest of a longer one is skipped without being held in memory
_PROBE_BYTES: Final = 8192


def open_text(place: Place) -> IO[bytes]:
    """Open a regular text file; anything else fails in one sentence. A link put there meanwhile is not followed."""
    handle = os.open(place.path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        if stat.S_ISDIR(status.st_mode):
            fail(f"{place.shown} is a directory; use ls to list it.")
        fail(f"{place.shown} is not a regular file and cannot be read.")
    file = os.fdopen(handle, "rb")
    if b"\0" in file.peek(_PROBE_BYTES):
        file.close()
        fail(f"{place.shown} is a binary file of {status.st_size} bytes and cannot be shown as text.")
    return file


def raw_lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file without their ends, each cut at a size that is safe to hold."""
    while line := file.readline(RECORD_BYTES):
        rest = line
        while not rest.endswith(b"\n"):
            rest = file.readline(RECORD_BYTES)
            if not rest:
                break
        yield line.rstrip(b"\r\n")


def decode(line: bytes) -> str:
    """A line as text; bytes that are not UTF-8 become U+FFFD."""
    return line.decode("utf-8", errors="replace")
