"""Open a file that a stranger may have put there, below a directory and nowhere else."""

import errno
import os
import stat
from collections.abc import Sequence
from io import BufferedReader
from pathlib import Path
from typing import Final

READING: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC  # never waits, follows no link
DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def open_below(root: Path, path: str, flags: int = READING) -> int:
    """Open a path relative to `root`, step by step: no link is followed, not even one put there meanwhile."""
    handle = os.open(root, DIRECTORY)
    try:
        return open_at(handle, path.split("/"), flags)
    finally:
        os.close(handle)


def open_at(directory: int, parts: Sequence[str], flags: int = READING) -> int:
    """Return the same from an open directory, which stays open."""
    if ".." in parts:
        raise OSError(errno.EXDEV, "It leads out of the directory")
    *above, name = parts
    handle = directory
    try:
        for part in above:
            inner = os.open(part, DIRECTORY | os.O_NOFOLLOW, dir_fd=handle)
            if handle != directory:
                os.close(handle)
            handle = inner
        return os.open(name, flags, dir_fd=handle)
    finally:
        if handle != directory:
            os.close(handle)


def open_file(root: Path, path: str) -> BufferedReader | None:
    """Return a regular file, opened; None when it is something else or cannot be read."""
    try:
        return regular(open_below(root, path))
    except (OSError, ValueError):
        return None


def regular(handle: int) -> BufferedReader | None:
    """Return the file of a handle if it is a regular one; any other is closed."""
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    return None


def read_file(root: Path, path: str, limit: int) -> bytes | None:
    """At most `limit` bytes of a file, or nothing when that is no regular file or cannot be read."""
    file = open_file(root, path)
    if file is None:
        return None
    with file:
        return file.read(limit)
