"""Regular files: bounded reading of those that others may have put there, and private writing."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES: Final = 1024 * 1024


def read_regular(path: Path) -> bytes:
    """Read a regular file of at most 1 MiB. Raises `OSError` for anything else, and never waits for a writer."""
    with open(path, "rb", opener=_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "It is not a regular file")
        return read_all(file)


class _Readable(Protocol):
    """A file that may have nothing to read yet."""

    def read(self, size: int, /) -> bytes | None: ...


def read_all(file: _Readable) -> bytes:
    """Read an open file. Raises `OSError` for more than 1 MiB, and for a file that has nothing to read yet."""
    content = file.read(MAX_BYTES + 1)
    if content is None:
        raise OSError(errno.EAGAIN, "It has nothing to read yet")
    if len(content) > MAX_BYTES:
        raise OSError(errno.EFBIG, f"It is larger than {MAX_BYTES} bytes")
    return content


def is_one_place(first: Path, second: Path) -> bool:
    """Return True if two paths lead to the same place; a path that goes in circles leads to itself alone."""
    return os.path.realpath(first) == os.path.realpath(second)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read; text that UTF-8 cannot encode becomes `?`. Raises `OSError`."""
    with open(path, "wb", opener=_for_us_alone) as file:
        file.write(text.encode("utf-8", "replace"))


def _for_us_alone(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
