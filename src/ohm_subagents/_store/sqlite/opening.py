"""Opens the SQLite file: wherever it is, however it was left, and with what the snapshot file holds."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._store.recovery import recovered
from ohm_subagents._store.sqlite import rows
from ohm_subagents._store.sqlite.migration import migrate
from ohm_subagents._store.sqlite.owners import is_in_use
from ohm_subagents._store.sqlite.place import make_private, network_file_system, touch_private
from ohm_subagents._store.sqlite.salvage import copied, is_sound, set_aside
from ohm_subagents._store.sqlite.schema import UNREADABLE, UnusableVersionError, choose_journal, connect, is_damage
from ohm_subagents._store.sqlite.store import FILE, FOLDER, SqliteStore

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from ohm_subagents._plugins.stores import Store, StoreRequest

_IMPORTED: Final = "snapshot imported"


class _DamagedError(Exception):
    """The file was found to be damaged, and it can be made anew."""


def no_fault(_step: str) -> None:
    """Nothing happens there."""


@asynccontextmanager
async def open_sqlite(request: StoreRequest, *, fault_point: Callable[[str], None] = no_fault) -> AsyncGenerator[Store]:
    """Open the store, and flush and close it at the end. Raises OSError where there can be none.

    `fault_point` is for tests: see `Writer`.
    """
    if request.is_reader and not _is_there(request.directory / FILE):
        from ohm_subagents._store.snapshot.store import SnapshotView  # noqa: PLC0415  what the database would begin with

        yield SnapshotView(request, request.directory / FILE)
        return
    try:
        store = open_database(request, fault_point)
    except (OSError, *UNREADABLE, UnusableVersionError) as exc:
        unusable = f"the registry of tasks in '{request.directory}' cannot be used, {exc}"
        raise OSError(unusable) from exc
    try:
        yield store
    finally:
        with anyio.CancelScope(shield=True):
            await store.flush()
        store.close()


def _is_there(file: Path) -> bool:
    return os.path.exists(file)


def open_database(request: StoreRequest, fault_point: Callable[[str], None], former: int | None = None) -> SqliteStore:
    """Return the store in a directory; a damaged file is kept beside one with what can be read of it.

    Unless a living process works with it, which `former` does no more.
    """
    directory = request.directory
    make_private(directory)
    file = directory / FILE
    network = network_file_system(directory)

    def opened(kept: Path | None = None) -> SqliteStore:
        writing = _connected(file, request, is_shared_by_network=network is not None)
        try:
            messages = [*migrate(writing, directory / FOLDER)]
            sound = is_sound(file, writing)
            if sound is False and not is_in_use(writing, former=former):
                raise _DamagedError  # noqa: TRY301  what follows is for both
            if kept is not None:
                messages.append(copied(kept, writing, folder=directory / FOLDER, mark=_IMPORTED))
            is_new = not rows.is_marked(writing, _IMPORTED)
            store = SqliteStore(
                request,
                file=file,
                reading=connect(file),
                writing=writing,
                fault_point=fault_point,
                is_sound=sound,
                made_anew=lambda former: open_database(request, fault_point, former),
            )
        except BaseException:
            writing.close()
            raise
        for message in messages:
            store.tell(message)
        if network is not None:
            store.tell(f"The registry of tasks is on a network file system ({network}): it is slower there, and safe.")
        if is_new:
            _import(store, request)
        return store

    try:
        store = opened()
    except (*UNREADABLE, _DamagedError) as exc:
        if not (isinstance(exc, _DamagedError) or is_damage(exc)):  # it is about the moment, not about the file
            raise
        store = opened(set_aside(file, request.clock()))
    store.begin(_IMPORTED)
    return store


def _connected(file: Path, request: StoreRequest, *, is_shared_by_network: bool) -> sqlite3.Connection:
    if os.path.exists(file) and not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)):
        raise PermissionError("it may not be written")
    touch_private(file)
    connection = connect(file)
    try:
        choose_journal(connection, sync=request.sync, is_shared_by_network=is_shared_by_network)
    except BaseException:
        connection.close()
        raise
    return connection


def _import(store: SqliteStore, request: StoreRequest) -> None:
    """Take over the tasks of a snapshot file, which stays as it is; those that a living process runs are left to it."""
    from ohm_subagents._store.snapshot.text import FILE as SNAPSHOT  # noqa: PLC0415  once for a file

    file = request.directory / SNAPSHOT
    try:
        text = file.read_bytes().decode(errors="replace")
    except OSError:
        return
    from ohm_subagents._store.snapshot.reading import parsed  # noqa: PLC0415  takes long, and most have none
    from ohm_subagents._store.snapshot.store import is_in_use  # noqa: PLC0415  as above

    contents = parsed(text, name_of=request.name_of, max_events=request.policy.max_events)
    is_used = is_in_use(request.directory)
    taken = 0
    for task in contents.tasks:
        if task.is_terminal or not is_used:
            store.take_in(task if task.is_terminal else recovered(task, now_ms=request.clock())[0])
            taken += 1
    store.tell(f"Imported {taken} task(s) from '{file}'.", "info")
    if contents.lost:
        store.tell(f"Some entries of '{file}' cannot be read: {'; '.join(contents.lost)}.")
