"""Opens the SQLite file: wherever it is, however it was left, and with what the snapshot file holds."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING, Final

from ohm_subagents._store import rows
from ohm_subagents._store.place import make_private, network_file_system, touch_private
from ohm_subagents._store.recovery import recovered
from ohm_subagents._store.salvage import copied, is_in_use, is_sound, set_aside
from ohm_subagents._store.schema import NewerSchemaError, connect, is_damage, prepare
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
_IMPORTED: Final = "snapshot imported"


class _DamagedError(Exception):
    """Somebody has noticed that the file is damaged, and it can be made anew."""


def open_database(
    directory: Path,
    *,
    clock: Clock,
    policy: RetentionPolicy,
    sync: Sync,
    name_of: Callable[[str], str],
    seam: Callable[[str], None],
    former: int | None = None,
) -> SqliteStore:
    """The store in `directory`; a damaged file is kept beside one with what can be read of it.

    Unless a living process works with it, which `former` does no more.
    """
    make_private(directory)
    file = directory / FILE
    network = network_file_system(directory)

    def opened(kept: Path | None = None) -> SqliteStore:
        writing = _connected(file, sync, is_shared_by_network=network is not None)
        try:
            sound = is_sound(file, writing)
            if sound is False and not is_in_use(writing, former=former):
                raise _DamagedError  # noqa: TRY301  what follows is for both
            salvaged = None if kept is None else copied(kept, writing, fact=_IMPORTED)
            is_new = not rows.is_fact(writing, _IMPORTED)
            store = SqliteStore(
                file=file,
                reading=connect(file),
                writing=writing,
                clock=clock,
                policy=policy,
                seam=seam,
                is_sound=sound,
                made_anew=lambda former: open_database(
                    directory, clock=clock, policy=policy, sync=sync, name_of=name_of, seam=seam, former=former
                ),
            )
        except BaseException:
            writing.close()
            raise
        if salvaged is not None:
            store.tell(salvaged)
        if network is not None:
            store.tell(f"The registry of tasks is on a network file system ({network}): it is slower there, and safe.")
        if is_new:
            _import(store, directory, clock(), name_of, policy.max_events)
        return store

    try:
        store = opened()
    except (sqlite3.Error, _DamagedError) as exc:
        if not (isinstance(exc, _DamagedError) or is_damage(exc)):  # it is about the moment, not about the file
            raise
        store = opened(set_aside(file, clock()))
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


def _import(store: SqliteStore, directory: Path, now_ms: int, name_of: Callable[[str], str], max_events: int) -> None:
    """Take over the tasks of a snapshot file, which stays as it is; those that a living process runs are left to it."""
    try:
        text = (directory / SNAPSHOT).read_bytes().decode(errors="replace")
    except OSError:
        return
    from ohm_subagents._store.snapshot_reading import parsed  # noqa: PLC0415  only who has one

    contents = parsed(text, name_of=name_of, max_events=max_events)
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
