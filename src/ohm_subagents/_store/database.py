"""Opens the SQLite file: wherever it is, however it was left, and with what the snapshot file holds."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING, Final

from ohm_subagents._store import rows
from ohm_subagents._store.place import make_private, network_file_system, touch_private
from ohm_subagents._store.recovery import recovered
from ohm_subagents._store.schema import NewerSchemaError, connect, prepare
from ohm_subagents._store.snapshot_text import FILE as SNAPSHOT
from ohm_subagents._store.sqlite import FILE, SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ohm_subagents._store.retention import RetentionPolicy
    from ohm_subagents._store.schema import Sync
    from ohm_subagents.contract.ids import Clock

UNUSABLE: Final = (OSError, sqlite3.Error, NewerSchemaError)
"""What `open_database` raises where there can be no such store."""
_SIDES: Final = ("", "-wal", "-shm", "-journal")
_IMPORTED: Final = "snapshot imported"


def open_database(
    directory: Path,
    *,
    clock: Clock,
    policy: RetentionPolicy,
    sync: Sync,
    name_of: Callable[[str], str],
    seam: Callable[[str], None],
) -> SqliteStore:
    """The store in `directory`; a file that is no database is kept beside it."""
    make_private(directory)
    file = directory / FILE
    network = network_file_system(directory)
    set_aside: Path | None = None
    try:
        writing = _connected(file, sync, is_shared_by_network=network is not None)
    except sqlite3.DatabaseError as exc:
        if type(exc) is not sqlite3.DatabaseError:  # an OperationalError is about the moment, not about the file
            raise
        set_aside = _set_aside(file, clock())
        writing = _connected(file, sync, is_shared_by_network=network is not None)
    store = SqliteStore(file=file, reading=connect(file), writing=writing, clock=clock, policy=policy, seam=seam)
    if set_aside is not None:
        store.tell(f"Recovered corrupt task registry: {set_aside}")
    if network is not None:
        store.tell(f"The registry of tasks is on a network file system ({network}): it is slower there, and safe.")
    if not rows.is_fact(writing, _IMPORTED):
        _import(store, directory, clock(), name_of)
    store.begin(_IMPORTED)
    return store


def _connected(file: Path, sync: Sync, *, is_shared_by_network: bool) -> sqlite3.Connection:
    if file.exists() and not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)):
        raise PermissionError("it may not be written")
    touch_private(file)
    connection = connect(file)
    try:
        prepare(connection, sync=sync, is_shared_by_network=is_shared_by_network)
    except BaseException:
        connection.close()
        raise
    return connection


def _set_aside(file: Path, now_ms: int) -> Path:
    kept = file.with_name(f"{file.name}.corrupt-{now_ms}")
    for side in _SIDES:
        part = file.with_name(f"{file.name}{side}")
        if part.exists():
            part.replace(f"{kept}{side}")
    return kept


def _import(store: SqliteStore, directory: Path, now_ms: int, name_of: Callable[[str], str]) -> None:
    """Take over the tasks of a snapshot file, which stays as it is; those that a living process runs are left to it."""
    try:
        text = (directory / SNAPSHOT).read_bytes().decode(errors="replace")
    except OSError:
        return
    from ohm_subagents._store.snapshot_reading import parsed  # noqa: PLC0415  only who has one

    contents = parsed(text, name_of=name_of)
    is_in_use = _is_in_use(directory)
    taken = 0
    for task in contents.tasks:
        if task.is_terminal or not is_in_use:
            store.take_in(task if task.is_terminal else recovered(task, now_ms=now_ms)[0])
            taken += 1
    store.tell(f"Imported {taken} task(s) from '{directory / SNAPSHOT}'.", "info")
    if contents.lost:
        store.tell(f"Some entries of '{directory / SNAPSHOT}' cannot be read: {'; '.join(contents.lost)}.")


def _is_in_use(directory: Path) -> bool:
    from ohm_subagents._store.snapshot import locked  # noqa: PLC0415  only who has one

    try:
        os.close(locked(directory))
    except BlockingIOError:
        return True
    return False
