"""Packs of files, as git reads them, with nothing compressed: it takes only the standard library.

What is in no repository is often noise, which takes as long to compress as all else together.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import struct
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_CHUNK = 2**20
_BLOB = 3
_TRIES = 8
_MOST = 0xFFFF
"""Bytes of a block that is stored as it is."""
_LAST = 2**32 - 1
"""The last place in a pack that an index of the first version can name."""
_STORED = b"\x78\x01"
_BLOCK = struct.Struct("<BHH")
_HEAD = struct.Struct(">4sII")
_PLACE = struct.Struct(">I20s")
_FAN = 256 * 4
_SUM = 20
_LATER = b"\xfftOc"

Facts = list[int]
"""The facts by which a file is known again: its ctime and mtime in ns, inode, owners and size."""
Packed = tuple[str, int, str, Facts]
"""A path, its mode and the id of its content as git has them, and what was known of it before it was read."""


def facts_of(status: os.stat_result) -> Facts:
    """Return the facts by which a file is known again."""
    owners = (status.st_uid, status.st_gid)
    return [status.st_ctime_ns, status.st_mtime_ns, status.st_ino, *owners, status.st_size]


def pack_part(top: str, directory: str, paths: list[str]) -> list[Packed]:
    """Pack files and links of a directory, and return those that are packed; others are gone, or no files.

    The pack, with its index, is in `directory` as files of any name. Raises OSError if one cannot be read or the
    pack cannot be written.
    """
    within, packed, folders = os.fsencode(top) + b"/", list[Packed](), {b"": True}
    pack = _Pack(directory, len(paths))
    try:
        for path in paths:
            if not is_inside(within, os.fsencode(path).rpartition(b"/")[0], folders):
                continue  # what is beyond a link is in another directory
            with suppress(FileNotFoundError, NotADirectoryError):
                found = _packed(pack, within + os.fsencode(path))
                if found is not None:
                    packed.append((path, *found))
        pack.close()
    except BaseException:
        pack.forget()
        raise
    return packed


def is_inside(within: bytes, folder: bytes, known: dict[bytes, bool]) -> bool:
    """Return True if a folder and all above it are directories below `within`, and no links.

    `known` has those that were looked at; it begins with `{b"": True}`.
    """
    found = known.get(folder)
    if found is None:
        found = is_inside(within, folder.rpartition(b"/")[0], known) and _is_directory(within + folder)
        known[folder] = found
    return found


def _is_directory(folder: bytes) -> bool:
    with suppress(OSError):
        return stat.S_ISDIR(os.lstat(folder).st_mode)
    return False


def _packed(pack: _Pack, file: bytes) -> tuple[int, str, Facts] | None:
    status = os.lstat(file)
    if stat.S_ISLNK(status.st_mode):
        text = os.readlink(file)  # noqa: PTH115  50,000 paths, and a start that does not wait for pathlib
        return 0o120000, pack.add(iter([text]), len(text)) or "", facts_of(status)
    if not stat.S_ISREG(status.st_mode):
        return None
    source = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        for _ in range(_TRIES):
            status = os.fstat(source)
            oid = pack.add(_chunks(source, status.st_size), status.st_size)
            if oid is not None:
                return 0o100755 if status.st_mode & stat.S_IXUSR else 0o100644, oid, facts_of(status)
            os.lseek(source, 0, os.SEEK_SET)  # it has become shorter meanwhile
    finally:
        os.close(source)
    raise OSError(errno.EAGAIN, "it becomes shorter all the time", os.fsdecode(file))


def _chunks(source: int, size: int) -> Iterator[bytes]:
    """Yield blocks of a file; one of nothing if it has none, and less than `size` if it has become shorter."""
    if not size:
        yield b""
    while size and (chunk := os.read(source, min(size, _MOST))):
        size -= len(chunk)
        yield chunk


class _Pack:
    """A pack that is written, each content once."""

    def __init__(self, directory: str, count: int) -> None:
        self._name = os.path.join(directory, os.urandom(8).hex())  # noqa: PTH118  as above
        self._file = open(f"{self._name}.pack", "xb+", _CHUNK)  # noqa: SIM115, PTH123  closed by `close` or `forget`
        self._count = count
        self._places = dict[bytes, int]()
        self._digest = hashlib.sha1()  # noqa: S324  git's own
        self._at = 0
        self._write(_HEAD.pack(b"PACK", 2, count))

    def add(self, chunks: Iterator[bytes], size: int) -> str | None:
        """Add a content of this size, and return its id; None if it is shorter. Raises OSError if it is too large."""
        if self._at + size > _LAST:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        begun, sum_before = self._at, self._digest.copy()
        named = hashlib.sha1(b"blob %d\0" % size)  # noqa: S324  git's own
        check, head = 1, _entry_head(size) + _STORED
        for chunk in chunks:
            size -= len(chunk)
            named.update(chunk)
            check = zlib.adler32(chunk, check)
            self._write(head + _BLOCK.pack(not size, len(chunk), len(chunk) ^ 0xFFFF))
            self._write(chunk)
            head = b""
        self._write(check.to_bytes(4, "big"))
        oid = named.digest()
        if size or oid in self._places:
            self._file.seek(begun)
            self._file.truncate()
            self._at, self._digest = begun, sum_before
        else:
            self._places[oid] = begun
        return None if size else oid.hex()

    def close(self) -> None:
        """Write the rest, with an index."""
        if not self._places:
            return self.forget()
        if len(self._places) != self._count:
            self._count_again()
        trailer = self._digest.digest()
        self._file.write(trailer)
        self._file.close()
        index = _index(self._places, trailer)
        with open(f"{self._name}.idx", "xb") as file:  # noqa: PTH123  as above
            file.write(index)
        return None

    def forget(self) -> None:
        """Remove it."""
        with suppress(OSError):
            self._file.close()
        for kind in ("pack", "idx"):
            with suppress(OSError):
                os.unlink(f"{self._name}.{kind}")  # noqa: PTH108  as above

    def _write(self, chunk: bytes) -> None:
        self._file.write(chunk)
        self._digest.update(chunk)
        self._at += len(chunk)

    def _count_again(self) -> None:
        """Write the number of contents, which is not that of files, and read all for the sum."""
        self._file.seek(0)
        self._file.write(_HEAD.pack(b"PACK", 2, len(self._places)))
        self._file.seek(0)
        self._digest = hashlib.sha1()  # noqa: S324  git's own
        for chunk in iter(lambda: self._file.read(_CHUNK), b""):
            self._digest.update(chunk)


def _entry_head(size: int) -> bytes:
    head, size = [_BLOB << 4 | size & 15], size >> 4
    while size:
        head[-1] |= 128
        head.append(size & 127)
        size >>= 7
    return bytes(head)


def _index(places: dict[bytes, int], trailer: bytes) -> bytes:
    """Return an index of the first version, which every git reads."""
    counts = [0] * 256
    for oid in places:
        counts[oid[0]] += 1
    fan = struct.pack(">256I", *(sum(counts[: n + 1]) for n in range(256)))
    index = fan + b"".join(_PLACE.pack(places[oid], oid) for oid in sorted(places)) + trailer
    return index + hashlib.sha1(index).digest()  # noqa: S324  git's own


def whole_index(index: str) -> bytes:
    """Return an index as it was written; nothing if it is damaged, or its pack does not end as it did.

    No content is read for that: a loss of power or a full disk cuts files off.
    """
    try:
        with open(index, "rb") as file, open(f"{index.removesuffix('.idx')}.pack", "rb") as pack:  # noqa: PTH123  as above
            listed = file.read()
            pack.seek(-_SUM, os.SEEK_END)
            is_same = pack.read() == listed[-2 * _SUM : -_SUM]
    except OSError:
        return b""
    is_same &= hashlib.sha1(listed[:-_SUM]).digest() == listed[-_SUM:]  # noqa: S324  git's own
    return listed if is_same else b""


def places_in(index: str) -> dict[str, int]:
    """Return where each content of a pack begins, by its index; nothing for one that is damaged, or that git wrote."""
    listed = whole_index(index)
    ours = b"" if listed.startswith(_LATER) else listed[_FAN : -2 * _SUM]
    return {oid.hex(): at for at, oid in _PLACE.iter_unpack(ours)}


def read_packed(pack: str, at: int) -> Iterator[bytes]:
    """Yield the content that begins there in a pack. Raises `OSError` or `zlib.error` if it is damaged."""
    with open(pack, "rb") as file:  # noqa: PTH123  as above
        file.seek(at)
        while file.read(1) > b"\x7f":
            pass
        stored = zlib.decompressobj()
        while not stored.eof:
            chunk = file.read(_CHUNK)
            if not chunk:
                raise zlib.error("it is cut off")
            yield stored.decompress(chunk)
