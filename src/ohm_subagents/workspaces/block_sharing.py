"""Files that share their blocks with others: it takes only the standard library."""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import suppress

_FICLONE = 0x40049409
"""Of Linux: share the blocks of a file."""
_LOW = 2**32 - 1
_CHUNK = 2**20

Unchanged = tuple[int, str, int, int, int, int, int]
"""A file as the index of its origin has it: the place of its entry in the index of the clone, its path, the rights of
a new one, its two times in ns, the lower half of its inode, and that of its size."""
Made = tuple[int, tuple[int, ...]]
"""The place of an entry in an index, and what git notes there of a file: its times, device, inode, owners and size."""


def share_blocks(source: int, target: int) -> None:
    """Let an empty file share the blocks of another one. Raises OSError where the file system cannot."""
    fcntl.ioctl(target, _FICLONE, source)


def fill(source: int, target: int) -> None:
    """Give an empty file the content of another one; it takes no room where the file system shares blocks."""
    try:
        share_blocks(source, target)
    except OSError:
        while chunk := os.read(source, _CHUNK):
            written = 0
            while written < len(chunk):
                written += os.write(target, chunk[written:])


def share_file(file: bytes, other: bytes, known: Unchanged | None = None) -> tuple[int, ...] | None:
    """Make a file that shares the blocks of another one, if that is as it is known; None where it is impossible.

    Of one that is known it is a copy where the file system shares none.
    """
    try:
        source = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        target = os.open(other, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if known is None else known[2])
        try:
            (share_blocks if known is None else fill)(source, target)
            then = os.fstat(source)  # who changes the file leaves a trace there
            if known is None or _is_known(then, known):
                # of now, git would take each for one that may change unseen, and read it again
                os.utime(target, ns=(then.st_mtime_ns, then.st_mtime_ns))
                now = os.fstat(target)
                times = (*divmod(now.st_ctime_ns, 10**9), *divmod(now.st_mtime_ns, 10**9))
                return (*times, now.st_dev, now.st_ino, now.st_uid, now.st_gid, now.st_size)
        finally:
            os.close(target)
    except OSError:
        pass
    finally:
        os.close(source)
    with suppress(OSError):
        os.unlink(other)  # noqa: PTH108  50,000 paths, and a start that does not wait for pathlib
    return None


def share_part(origin: str, clone: str, part: list[Unchanged]) -> list[Made]:
    """Make files of a clone, and return those that could be made; the others are left to git."""
    source, target = os.fsencode(origin) + b"/", os.fsencode(clone) + b"/"
    folders, done = set[bytes](), list[Made]()
    for known in part:
        path = os.fsencode(known[1])
        folder = path.rpartition(b"/")[0]
        if folder not in folders:
            with suppress(OSError):
                os.makedirs(target + folder, exist_ok=True)  # noqa: PTH103  as above
            folders.add(folder)
        made = share_file(source + path, target + path, known)
        if made is not None:
            done.append((known[0], made))
    return done


def _is_known(now: os.stat_result, known: Unchanged) -> bool:
    _, _, _, *facts = known
    seen = [now.st_ctime_ns, now.st_mtime_ns, now.st_ino & _LOW, now.st_size & _LOW]
    return stat.S_ISREG(now.st_mode) and seen == facts
