"""Opening a file that somebody else may have put there."""

import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import Final

READING: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC  # never waits, follows no link


def open_file(path: Path) -> BufferedReader | None:
    """A regular file, opened; None when it is something else or cannot be read."""
    try:
        handle = os.open(path, READING)
    except (OSError, ValueError):
        return None
    file = os.fdopen(handle, "rb")
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return file
    file.close()
    return None


def read_file(path: Path, limit: int) -> bytes | None:
    """At most `limit` bytes of a file, or nothing when that is no regular file or cannot be read."""
    file = open_file(path)
    if file is None:
        return None
    with file:
        return file.read(limit)
