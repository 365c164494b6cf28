"""Opens the SQLite file: wherever it is, however it was left, and with what the snapshot file holds."""

from __future__ import annotations

import os
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents.files import os_problem
from ohm_subagents.store import MemoryStore
from ohm_subagents.stores.sqlite.damage import is_damage
from ohm_subagents.stores.sqlite.migration import migrate
from ohm_subagents.stores.sqlite.owners import is_in_use
from ohm_subagents.stores.sqlite.place import make_private, network_file_system, touch_private
from ohm_subagents.stores.sqlite.salvage import copy_survivors, is_sound, set_aside
from ohm_subagents.stores.sqlite.schema import UNREADABLE, UnusableVersionError, choose_journal, connect
from ohm_subagents.stores.sqlite.store import FILE, FOLDER, SqliteStore

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from ohm_subagents.store import Store, StoreRequest

_IMPORTED: Final = "snapshot imported"


class _DamagedError(OSError):
    """The file is damaged, and no living process works with it."""


def no_fault(_step: str) -> None:
    """Do nothing."""


@asynccontextmanager
async def open_sqlite(request: StoreRequest, *, fault_point: Callable[[str], None] = no_fault) -> AsyncGenerator[Store]:
    """Open the store, and flush and close it at the end. Raises OSError where there can be none.

    `fault_point` is for tests: see `Writer`.
    """
    if request.is_reader and not _is_there(request.directory / FILE):
        async with _before_there_is_a_file(request) as view:
            yield view
        return
    try:
        store = open_database(request, fault_point)
        if not store.is_marked(_IMPORTED):
            await _take_in(store, request)
        store.begin(_IMPORTED)
    except (OSError, *UNREADABLE, UnusableVersionError) as exc:
        why = f"{os_problem(exc)}: '{exc.filename}'" if isinstance(exc, OSError) and exc.filename else exc
        unusable = f"the registry of tasks in '{request.directory}' cannot be used, {why}"
        raise OSError(unusable) from exc
    try:
        yield store
    finally:
        with anyio.CancelScope(shield=True):
            await store.flush()
        store.close()


@asynccontextmanager
async def _before_there_is_a_file(request: StoreRequest) -> AsyncGenerator[Store]:
    """Yield what the file would begin with: the predecessor, or nothing."""
    async with AsyncExitStack() as stack:
        if request.predecessor is not None:
            predecessor = await stack.enter_async_context(request.predecessor())
            if predecessor.count() or predecessor.diagnostics:
                yield predecessor
                return
        yield MemoryStore(request.clock, request.policy, place=str(request.directory / FILE))


def _is_there(file: Path) -> bool:
    return os.path.exists(file)


def open_database(
    request: StoreRequest, fault_point: Callable[[str], None], closed_owner: int | None = None
) -> SqliteStore:
    """Return the store in a directory, not begun yet; a damaged file is kept beside one with what can be read of it.

    Unless this is a reader, or a living process works with the file, which `closed_owner` does no more: then what can
    be read is read from where it is. Raises OSError where that is nothing.
    """
    make_private(request.directory)
    try:
        return _open(request, fault_point, closed_owner)
    except _DamagedError as exc:
        if request.is_reader:
            left = f"it is damaged ({exc}); the next program that runs a task there saves what can be read of it"
            raise OSError(left) from exc
        kept = set_aside(request.directory / FILE, request.clock())
    return _open(request, fault_point, closed_owner, kept)


def _open(
    request: StoreRequest, fault_point: Callable[[str], None], closed_owner: int | None, kept: Path | None = None
) -> SqliteStore:
    """Return the store, with what can be read of the damaged file `kept`. Raises `_DamagedError`."""
    file, folder = request.directory / FILE, request.directory / FOLDER
    network = network_file_system(request.directory)
    writing = _connect(file)
    try:
        choose_journal(writing, sync=request.sync, is_shared_by_network=network is not None)
        messages = [*migrate(writing, folder)]
        sound = is_sound(file, writing)
        if sound is False and not request.is_reader and not is_in_use(writing, closed_owner=closed_owner):
            raise _DamagedError  # noqa: TRY301  what follows is for both
        if kept is not None:
            messages.append(copy_survivors(kept, writing, folder=folder, mark=_IMPORTED))
        store = SqliteStore(
            request,
            file=file,
            writing=writing,
            fault_point=fault_point,
            is_sound=sound,
            is_local=network is None,
            make_anew=lambda closed_owner: _make_anew(request, fault_point, closed_owner),
        )
    except BaseException as exc:
        has_damage = isinstance(exc, UNREADABLE) and is_damage(exc, writing)
        writing.close()
        if has_damage:
            raise _DamagedError(str(exc)) from exc
        raise
    for message in messages:
        store.note(message)
    if network is not None:
        store.note(f"The registry of tasks is on a network file system ({network}): it is slower there, and safe.")
    return store


def _make_anew(request: StoreRequest, fault_point: Callable[[str], None], closed_owner: int) -> SqliteStore:
    store = open_database(request, fault_point, closed_owner)
    store.begin()
    return store


def _connect(file: Path) -> sqlite3.Connection:
    if os.path.exists(file) and not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)):
        raise PermissionError("it may not be written")
    touch_private(file)
    return connect(file)


async def _take_in(store: SqliteStore, request: StoreRequest) -> None:
    """Take in the tasks of the predecessor, which stays as it is; those that a living process runs are left to it."""
    if request.predecessor is None:
        return
    async with AsyncExitStack() as stack:
        try:
            predecessor = await stack.enter_async_context(request.predecessor())
        except OSError as exc:
            store.note(f"No task was imported: {exc}.")
            return
        tasks = [task for task in predecessor.tasks() if task.is_terminal]
        for task in tasks:
            store.take_in(task)
        if tasks or predecessor.diagnostics:
            store.note(f"Imported {len(tasks)} task(s) from '{predecessor.place}'.", "info")
        for diagnostic in predecessor.diagnostics:
            store.note(diagnostic.message)
