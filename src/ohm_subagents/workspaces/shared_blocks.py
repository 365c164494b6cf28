"""Files of a clone that share their blocks with those of its origin, where the file system can: btrfs, XFS.

Git would write each file anew. What is shared is noted in the index of the clone, as git itself notes what it has
written, so that git writes the rest and takes these for what they are.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import struct
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ohm_subagents.workspaces import included

if TYPE_CHECKING:
    from collections.abc import Iterator

LISTED: Final = ("ls-files", "-s", "-z", "--debug")
"""The arguments by which git lists an index with what it knows of each file."""
_ENTRY: Final = re.compile(
    rb"(\d+) ([0-9a-f]{40}) 0\t([^\0]*)\0"
    rb"  ctime: \d+:\d+\n  mtime: (\d+):(\d+)\n  dev: \d+\tino: (\d+)\n  uid: \d+\tgid: \d+\n  size: (\d+)\t[^\n]*\n"
)
_FILES: Final = {b"100644": 0o666, b"100755": 0o777}
_HEAD: Final = struct.Struct(">4sII")
_STATUS: Final = struct.Struct(">10I")
_FIXED: Final = 62
"""Bytes of an entry before its path."""
_LONG: Final = 0xFFF
_LOW: Final = 2**32 - 1


class _Known(NamedTuple):
    """A file as the index of the origin has it."""

    mode: int
    oid: bytes
    mtime_ns: int
    inode: int
    size: int


def can_share(origin: Path, clone: Path) -> bool:
    """Return True if files of one directory can share their blocks with those of another one."""
    if origin.stat().st_dev != clone.stat().st_dev:
        return False
    one, other = clone / "one", clone / "other"
    try:
        one.write_bytes(b"x" * 4096)
        return _shared(os.fsencode(one), os.fsencode(other), None, 0o600) is not None
    finally:
        one.unlink(missing_ok=True)
        other.unlink(missing_ok=True)


def share_all(origin: Path, listed: bytes, index_mtime_ns: int, clone: Path) -> None:
    """Fill a clone, whose index has entries of its commit and no files, with what its origin has unchanged."""
    known = {
        path: _Known(_FILES[mode], oid, int(seconds) * 10**9 + int(ns), int(inode), int(size))
        for mode, oid, path, seconds, ns, inode, size in _ENTRY.findall(listed)
        if mode in _FILES
    }
    file = clone / ".git" / "index"
    index = bytearray(file.read_bytes())
    source, target, folders = os.fsencode(origin) + b"/", os.fsencode(clone) + b"/", set[bytes]()
    for at, path, oid in _entries(index):
        one = known.get(path)
        if one is None or one.oid != oid or one.mtime_ns >= index_mtime_ns:
            continue
        folder = path.rpartition(b"/")[0]
        if folder not in folders:
            Path(os.fsdecode(target + folder)).mkdir(parents=True, exist_ok=True)
            folders.add(folder)
        made = _shared(source + path, target + path, one, one.mode)
        if made is not None:
            _note(made, index, at)
    file.write_bytes(index[:-20] + hashlib.sha1(index[:-20]).digest())  # noqa: S324  git's own


def _shared(file: bytes, other: bytes, known: _Known | None, mode: int) -> os.stat_result | None:
    """Make a file that shares the blocks of another one, if that is as it is known; None where it is impossible."""
    try:
        source = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        before = os.fstat(source)
        if known is not None and not _is_as_known(before, known):
            return None
        target = os.open(other, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            included.share_blocks(source, target)
            # of now, git would take each for one that may change unseen, and read it again
            os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
            if _is_as_before(before, os.fstat(source)):
                return os.fstat(target)
        finally:
            os.close(target)
    except OSError:
        pass
    finally:
        os.close(source)
    with suppress(OSError):
        Path(os.fsdecode(other)).unlink()
    return None


def _is_as_known(now: os.stat_result, known: _Known) -> bool:
    seen = (now.st_mtime_ns, now.st_ino & _LOW, now.st_size & _LOW)
    return stat.S_ISREG(now.st_mode) and seen == (known.mtime_ns, known.inode, known.size)


def _is_as_before(before: os.stat_result, now: os.stat_result) -> bool:
    return (before.st_ctime_ns, before.st_mtime_ns, before.st_size) == (now.st_ctime_ns, now.st_mtime_ns, now.st_size)


def _entries(index: bytearray) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield the place, the path and the content of each entry; none of an index of another form."""
    signature, version, count = _HEAD.unpack_from(index)
    at = _HEAD.size
    for _ in range(count if (signature, version) == (b"DIRC", 2) else 0):
        flags = int.from_bytes(index[at + _FIXED - 2 : at + _FIXED], "big")
        length = flags & _LONG
        if length == _LONG:
            length = index.index(0, at + _FIXED) - at - _FIXED
        yield at, bytes(index[at + _FIXED : at + _FIXED + length]), index[at + 40 : at + 60].hex().encode()
        at += (_FIXED + length + 8) // 8 * 8


def _note(status: os.stat_result, index: bytearray, at: int) -> None:
    mode = _STATUS.unpack_from(index, at)[6]
    ctime, mtime = divmod(status.st_ctime_ns, 10**9), divmod(status.st_mtime_ns, 10**9)
    numbers = (*ctime, *mtime, status.st_dev, status.st_ino, mode, status.st_uid, status.st_gid, status.st_size)
    _STATUS.pack_into(index, at, *(number & _LOW for number in numbers))
