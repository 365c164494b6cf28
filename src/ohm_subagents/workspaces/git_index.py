"""Indexes of git, in which files are noted that git has not written or read itself, as it would have.

Those are files that many were packed with, and files of a clone that share their blocks with those of its origin where
the file system can, btrfs or XFS: git would write each anew, and so it writes the rest.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ohm_subagents.workspaces import block_sharing
from ohm_subagents.workspaces.block_sharing import Made, Unchanged
from ohm_subagents.workspaces.parts import by_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ohm_subagents.workspaces.packing import Facts

LISTED: Final = ("ls-files", "-s", "-z", "--debug")
"""The arguments by which git lists an index with what it knows of each file."""
_ENTRY: Final = re.compile(
    rb"(\d+) ([0-9a-f]{40}) 0\t([^\0]*)\0"
    rb"  ctime: (\d+):(\d+)\n  mtime: (\d+):(\d+)\n  dev: \d+\tino: (\d+)\n"
    rb"  uid: \d+\tgid: \d+\n  size: (\d+)\t[^\n]*\n"
)
_FILES: Final = {b"100644": 0o666, b"100755": 0o777}
_HEAD: Final = struct.Struct(">4sII")
_STATUS: Final = struct.Struct(">10I")
_FIXED: Final = 62
"""Bytes of an entry before its path."""
_LONG: Final = 0xFFF
_LOW: Final = 2**32 - 1
_ANY_DEVICE: Final = 0
"""Git does not compare it: it has another number after the next start of a machine."""


def can_share(origin: Path, clone: Path) -> bool:
    """Return True if files of one directory can share their blocks with those of another one."""
    if origin.stat().st_dev != clone.stat().st_dev:
        return False
    one, other = clone / "one", clone / "other"
    try:
        one.write_bytes(b"x" * 4096)
        return block_sharing.share_file(os.fsencode(one), os.fsencode(other)) is not None
    finally:
        one.unlink(missing_ok=True)
        other.unlink(missing_ok=True)


async def share_all(origin: Path, listed: bytes, index_mtime_ns: int, clone: Path) -> None:
    """Fill a clone, whose index has entries of its commit and no files, with what its origin has unchanged."""
    file = clone / ".git" / "index"
    index = bytearray(await to_thread.run_sync(file.read_bytes))
    unchanged = await to_thread.run_sync(_unchanged, index, listed, index_mtime_ns)
    made = await by_parts(block_sharing.share_part, f"{origin}", f"{clone}", unchanged)
    await to_thread.run_sync(_write, made, index, file)


def _unchanged(index: bytearray, listed: bytes, index_mtime_ns: int) -> list[Unchanged]:
    """Return the entries of the clone's index that are files of the origin as its own index knows them."""
    known = {
        path: (oid, _FILES[mode], _ns(since, since_ns), _ns(written, written_ns), int(inode), int(size))
        for mode, oid, path, since, since_ns, written, written_ns, inode, size in _ENTRY.findall(listed)
        if mode in _FILES
    }
    found = list[Unchanged]()
    for at, path, oid in _entries(index):
        one = known.get(path)
        if one is not None and one[0] == oid and one[3] < index_mtime_ns:
            found.append((at, os.fsdecode(path), *one[1:]))
    return found


def _ns(seconds: bytes, ns: bytes) -> int:
    return int(seconds) * 10**9 + int(ns)


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


def note_facts(facts: Mapping[bytes, Facts], file: Path) -> None:
    """Let an index know files again, as if git had read them."""
    index = bytearray(file.read_bytes())
    made = list[Made]()
    for at, path, _ in _entries(index):
        if path in facts:
            since_ns, written_ns, *others = facts[path]
            made.append((at, (*divmod(since_ns, 10**9), *divmod(written_ns, 10**9), _ANY_DEVICE, *others)))
    _write(made, index, file)


def _write(made: list[Made], index: bytearray, file: Path) -> None:
    for at, (*facts, uid, gid, size) in made:
        numbers = (*facts, _STATUS.unpack_from(index, at)[6], uid, gid, size)
        _STATUS.pack_into(index, at, *(number & _LOW for number in numbers))
    file.write_bytes(index[:-20] + hashlib.sha1(index[:-20]).digest())  # noqa: S324  git's own
