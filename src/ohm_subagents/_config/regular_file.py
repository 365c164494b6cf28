"""Reading files that somebody else may have put there."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, BinaryIO, Final, cast

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES: Final = 1024 * 1024


def read_regular(path: Path) -> bytes:
    """The bytes of a regular file of at most 1 MiB; anything else is an `OSError`, and never waits for a writer."""
    with open(path, "rb", opener=_without_waiting) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "It is not a regular file")
        return whole(file)


def whole(file: BinaryIO) -> bytes:
    """What is in an open file; an `OSError` for more than 1 MiB, or where there would only be something to wait for."""
    content = cast("bytes | None", file.read(MAX_BYTES + 1))
    if content is None:
        raise OSError(errno.EAGAIN, "It has nothing to read yet")
    if len(content) > MAX_BYTES:
        raise OSError(errno.EFBIG, f"It is larger than {MAX_BYTES} bytes")
    return content


def is_one_place(first: Path, second: Path) -> bool:
    """Whether two paths lead to the same place; a path that goes in circles leads to none but itself."""
    return os.path.realpath(first) == os.path.realpath(second)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
