"""Reads files into an index. A program: it is run as a process of its own, so that nothing waits for its parsing."""

import json
import os
import sqlite3
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from ohm_subagents.backends.in_process.regular_file import open_file
from ohm_subagents.backends.in_process.search.code_index.cache import discard, index_file, locked, prune
from ohm_subagents.backends.in_process.search.code_index.database import FIELDS, is_damage, opened
from ohm_subagents.backends.in_process.search.code_index.units import Source, sources
from ohm_subagents.backends.in_process.search.code_index.words import split

UNUSABLE: Final = 3
"""The exit code where the index cannot be written in its directory."""
_BATCH_BYTES: Final = 2_000_000
_CACHE_KIB: Final = 65_536
_BINARY: Final = b"\0"

Texts: TypeAlias = list[tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The work of a builder for the process `owner`. `broken`: the inode of a damaged index, 0 for none."""

    directory: str
    root: str
    changed: Sequence[str]
    gone: Sequence[str]
    max_file_bytes: int
    broken: int
    owner: int


@dataclass(frozen=True, slots=True)
class _File:
    """A file as it was read; `found` is None when it could not be."""

    path: str
    status: os.stat_result
    found: Sequence[Source] | None


def build(order: Order) -> None:
    """Carry out the order, batch by batch: what is written stays when the process is killed."""
    root, directory = Path(order.root), Path(order.directory)
    file = index_file(directory, root)
    with locked(file):
        _make_usable(file, order.broken)
        try:
            with opened(index_file(directory, root)) as connection:
                _fill(connection, root, order)
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
            discard(file)  # and its owner sees that everything has to be read
    prune(directory, file)


def read_into(connection: sqlite3.Connection, root: Path, paths: Iterable[str], max_file_bytes: int) -> Iterator[None]:
    """Read files into an index; stops before it writes each batch, so that a waiter may give up."""
    for batch in _batches(_read(root, paths, max_file_bytes)):
        yield
        _write(connection, batch, ())


def _fill(connection: sqlite3.Connection, root: Path, order: Order) -> None:
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    connection.execute("PRAGMA secure_delete = ON")
    for _ in read_into(connection, root, _still_changed(connection, root, order), order.max_file_bytes):
        if order.owner != os.getpid() and order.owner != os.getppid():  # nothing waits for it any more
            return
    if order.gone:
        _write(connection, (), order.gone)
        connection.execute("INSERT INTO words (words) VALUES ('optimize')")  # or their words stay until a later merge


def _make_usable(file: Path, broken: int) -> None:
    try:
        if file.stat().st_ino == broken:
            discard(file)
            return
        with opened(file):
            return
    except FileNotFoundError:
        return
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
    discard(file)


def _still_changed(connection: sqlite3.Connection, root: Path, order: Order) -> Iterator[str]:
    """Yield the files to read, without those that another builder has read while we waited for it."""
    known = stamps(connection)
    missed = unread(connection)
    for path in order.changed:
        try:
            status = (root / path).lstat()
        except (OSError, ValueError):
            yield path
            continue
        if path in missed or known.get(path) != (status.st_size, status.st_mtime_ns):
            yield path


def stamps(connection: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    """Size and time of change of each file in the index."""
    rows = connection.execute("SELECT path, size, mtime_ns FROM files")
    return {path: (size, mtime_ns) for path, size, mtime_ns in rows}


def unread(connection: sqlite3.Connection) -> set[str]:
    """Return the files in the index that could not be read."""
    return {path for (path,) in connection.execute("SELECT path FROM files WHERE NOT is_read")}


def _read(root: Path, paths: Iterable[str], limit: int) -> Iterator[_File]:
    for path in paths:
        file = open_file(root, path)
        if file is None:
            try:
                status = (root / path).lstat()
            except (OSError, ValueError):
                continue
            yield _File(path, status, None)
            continue
        with file:
            status = os.fstat(file.fileno())
            data = file.read(limit)
        found = () if _BINARY in data else sources(path, data.decode("utf-8-sig", errors="replace"))
        yield _File(path, status, found)


def _batches(files: Iterable[_File]) -> Iterator[list[_File]]:
    batch: list[_File] = []
    size = 0
    for file in files:
        batch.append(file)
        size += file.status.st_size
        if size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _write(connection: sqlite3.Connection, files: Sequence[_File], gone: Sequence[str]) -> None:
    prepared = [(file, [_texts(file.path, source) for source in file.found or ()]) for file in files]
    connection.execute("BEGIN IMMEDIATE")
    try:
        for path in gone:
            _remove(connection, path)
        for file, texts in prepared:
            _remove(connection, file.path)
            _add(connection, file, texts)
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def _texts(path: str, source: Source) -> tuple[str, ...]:
    unit = source.unit
    parts = (unit.name, source.docstring, f"{path} {unit.scope}", source.body)
    return tuple(" ".join(split(part)) for part in parts)


def _add(connection: sqlite3.Connection, file: _File, texts: Texts) -> None:
    kept = zlib.compress(json.dumps(texts).encode(), 1)
    row = (file.path, file.status.st_size, file.status.st_mtime_ns, file.found is not None, kept)
    number = connection.execute(
        "INSERT INTO files (path, size, mtime_ns, is_read, texts) VALUES (?, ?, ?, ?, ?)", row
    ).lastrowid
    for source, text in zip(file.found or (), texts, strict=True):
        unit = source.unit
        lengths = (len(field.split()) for field in text)
        columns = (number, unit.kind, unit.name, unit.scope, unit.summary, unit.start, unit.end, *lengths)
        added = connection.execute(f"INSERT INTO units VALUES (NULL{', ?' * len(columns)})", columns).lastrowid  # noqa: S608  marks only
        connection.execute(f"INSERT INTO words (rowid, {', '.join(FIELDS)}) VALUES (?, ?, ?, ?, ?)", (added, *text))  # noqa: S608  names of ours


def _remove(connection: sqlite3.Connection, path: str) -> None:
    row = connection.execute("SELECT id, texts FROM files WHERE path = ?", (path,)).fetchone()
    if row is None:
        return
    number, kept = row
    units = connection.execute("SELECT id FROM units WHERE file = ? ORDER BY id", (number,)).fetchall()
    try:
        texts = json.loads(zlib.decompress(kept))
    except (zlib.error, ValueError) as error:
        raise sqlite3.DatabaseError(str(error)) from error
    for (unit,), text in zip(units, texts, strict=True):
        connection.execute(
            f"INSERT INTO words (words, rowid, {', '.join(FIELDS)}) VALUES ('delete', ?, ?, ?, ?, ?)",  # noqa: S608  names of ours
            (unit, *text),
        )
    connection.execute("DELETE FROM units WHERE file = ?", (number,))
    connection.execute("DELETE FROM files WHERE id = ?", (number,))


def main() -> None:
    """Carry out the order that is on stdin."""
    try:
        build(Order(**json.load(sys.stdin)))
    except (OSError, sqlite3.Error) as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(UNUSABLE)
