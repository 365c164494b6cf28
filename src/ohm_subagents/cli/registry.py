"""The kept tasks as a reader sees them, who changes nothing but what a dead process left: without an event loop."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol

from ohm_subagents._app.assembly import system_clock
from ohm_subagents._config.env import config_dir, process_env
from ohm_subagents._profiles.catalog import load_catalog
from ohm_subagents._store.memory import MemoryStore
from ohm_subagents._store.recovery import recovered
from ohm_subagents._store.retention import RetentionPolicy, expired, expired_why
from ohm_subagents._store.snapshot_text import FILE as SNAPSHOT
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from ohm_subagents._config.schema import OhmConfig
    from ohm_subagents._store.sqlite import SqliteStore
    from ohm_subagents._store.stored import Listing
    from ohm_subagents._store.transcript import Stamped, Streamed
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.ids import SessionId, TaskId
    from ohm_subagents.contract.task import Task

_ALL: Final = RetentionPolicy(retention_ms=sys.maxsize, max_entries=sys.maxsize, max_reasons=sys.maxsize)
"""What a store is opened with that somebody only wants to read: it removes nothing."""


class _Kept(Protocol):
    """One kind of file. What its methods promise is what `Registry` passes on."""

    @property
    def place(self) -> Path: ...

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]: ...

    def outlines(self, listing: Listing) -> Iterator[Result[Task, OhmError]]: ...

    def number(self, listing: Listing) -> int: ...

    def get(self, task_id: TaskId) -> Result[Task, OhmError]: ...

    def whole(self, session_id: SessionId | None) -> Iterator[Task]: ...

    def where(self, task_id: TaskId) -> str: ...

    def transcript(self, task: Task) -> Iterator[Stamped | Streamed]: ...


class Registry:
    """What is kept and not past its time; `place` is None when nothing outlives its process."""

    def __init__(self, kept: _Kept | None, *, place: Path | None, retention_ms: int) -> None:
        self._kept = kept
        self._policy = RetentionPolicy(retention_ms=retention_ms)
        self.place = place if kept is None else kept.place
        self.now_ms = system_clock()

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What was found when it was opened."""
        return () if self._kept is None else self._kept.diagnostics

    def outlines(self, listing: Listing) -> Iterator[Result[Task, OhmError]]:
        """Tasks, newest first, without what only their transcripts know; those that cannot be read say why.

        As many are read as are taken.
        """
        if self._kept is None:
            return
        for found in self._kept.outlines(self._timely(listing)):
            if isinstance(found, Err) or isinstance(self._in_time(found.ok_value), Ok):
                yield found

    def number(self, listing: Listing) -> int:
        """How many such tasks there are, without reading them."""
        return 0 if self._kept is None else self._kept.number(self._timely(listing))

    def _timely(self, listing: Listing) -> Listing:
        return replace(listing, now_ms=self.now_ms, after_ms=self.now_ms - self._policy.retention_ms)

    def get(self, task_id: TaskId) -> Result[Task, OhmError]:
        """The whole task; else the store's own words."""
        kept = MemoryStore(system_clock) if self._kept is None else self._kept
        found = kept.get(task_id)
        return self._in_time(found.ok_value) if isinstance(found, Ok) else found

    def whole(self, session_id: SessionId | None) -> Iterator[Task]:
        """Every whole task, or those of a session, oldest first."""
        if self._kept is not None:
            yield from (task for task in self._kept.whole(session_id) if isinstance(self._in_time(task), Ok))

    def where(self, task: Task) -> str:
        """Who runs a task: `pid <n>` or `elsewhere`; nobody runs one that is settled."""
        return "" if self._kept is None or task.is_terminal else self._kept.where(task.id)

    def transcript(self, task: Task) -> Iterator[Stamped | Streamed]:
        """Its streamed events, as far as they are kept."""
        return iter(()) if self._kept is None else self._kept.transcript(task)

    def _in_time(self, task: Task) -> Result[Task, OhmError]:
        if task.ended_ms is not None and self.now_ms - task.ended_ms >= self._policy.retention_ms:
            return Err(expired(task.id, expired_why(self._policy)))
        return Ok(task)


class _Database:
    def __init__(self, store: SqliteStore, place: Path) -> None:
        from ohm_subagents._store.files import TaskFiles
        from ohm_subagents._store.sqlite import FOLDER

        self._store = store
        self._files = TaskFiles(place.parent / FOLDER)
        self.place = place

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self._store.diagnostics

    def outlines(self, listing: Listing) -> Iterator[Result[Task, OhmError]]:
        """What still runs is whole: its row is not as new as its transcript."""
        for found in self._store.outlines(listing):
            yield found if isinstance(found, Err) or found.ok_value.is_terminal else self.get(found.ok_value.id)

    def number(self, listing: Listing) -> int:
        return self._store.number(listing)

    def get(self, task_id: TaskId) -> Result[Task, OhmError]:
        return self._store.get(task_id)

    def whole(self, session_id: SessionId | None) -> Iterator[Task]:
        return self._store.tasks() if session_id is None else iter(self._store.session(session_id))

    def where(self, task_id: TaskId) -> str:
        pid = self._store.owner_pid(task_id)
        return "elsewhere" if pid is None else f"pid {pid}"

    def transcript(self, task: Task) -> Iterator[Stamped | Streamed]:
        from ohm_subagents._store.transcript import parsed

        return parsed(self._files.streamed(task.id))


class _Snapshot:
    """The JSON file as it is: whoever has it open goes on with it undisturbed."""

    def __init__(self, place: Path, *, name_of: Callable[[str], str], max_events: int) -> None:
        from ohm_subagents._store.snapshot_reading import parsed

        contents = parsed(place.read_bytes().decode(errors="replace"), name_of=name_of, max_events=max_events)
        is_in_use = any(not task.is_terminal for task in contents.tasks) and _is_in_use(place.parent)
        tasks = (task if is_in_use or task.is_terminal else _as_dead(task) for task in contents.tasks)
        self._memory = MemoryStore(system_clock, _ALL)
        self._memory.restore(tasks, contents.expired, contents.hidden)
        self.place = place
        lost = Diagnostic(subject="subagents.store", message=f"Some tasks cannot be read: {'; '.join(contents.lost)}.")
        self.diagnostics = (lost,) if contents.lost else ()

    def outlines(self, listing: Listing) -> Iterator[Result[Task, OhmError]]:
        return (Ok(task) for task in reversed(self._memory.kept) if listing.holds(task))

    def number(self, listing: Listing) -> int:
        return sum(map(listing.holds, self._memory.kept))

    def get(self, task_id: TaskId) -> Result[Task, OhmError]:
        return self._memory.get(task_id)

    def whole(self, session_id: SessionId | None) -> Iterator[Task]:
        return self._memory.tasks() if session_id is None else iter(self._memory.session(session_id))

    def where(self, task_id: TaskId) -> str:
        del task_id
        return "elsewhere"

    def transcript(self, task: Task) -> Iterator[Stamped | Streamed]:
        from ohm_subagents._store.transcript import Streamed

        yield Streamed.of(task)


def _as_dead(task: Task) -> Task:
    """As the next `Ohm` will find it; it ended when it was last heard of."""
    return recovered(task, now_ms=task.updated_ms)[0]


def _is_in_use(directory: Path) -> bool:
    from ohm_subagents._store.snapshot import locked

    try:
        os.close(locked(directory))
    except BlockingIOError:
        return True
    return False


@contextmanager
def open_registry(config: OhmConfig, cwd: Path) -> Generator[Result[Registry, str]]:
    """What the configuration keeps, or why it cannot be read. Where nothing was kept yet, nothing is made."""
    from ohm_subagents._store.database import UNUSABLE
    from ohm_subagents._store.sqlite import FILE

    settings, directory = config.subagents, config_dir(process_env())
    database, snapshot = directory / FILE, directory / SNAPSHOT
    is_database = settings.store == "sqlite"
    kept: _Kept | None = None
    place = None if settings.store == "memory" else database if is_database else snapshot
    with ExitStack() as stack:
        try:
            if is_database and database.exists():
                kept = stack.enter_context(_opened(database, config, _names(cwd, directory)))
            elif place is not None and snapshot.exists():  # what a database would begin with
                kept = _Snapshot(snapshot, name_of=_names(cwd, directory), max_events=config.task_max_events)
        except UNUSABLE as exc:
            yield Err(f"The registry of tasks in '{directory}' cannot be used, {exc}.")
            return
        yield Ok(Registry(kept, place=place, retention_ms=settings.task_retention_ms))


@contextmanager
def _opened(file: Path, config: OhmConfig, name_of: Callable[[str], str]) -> Generator[_Database]:
    from ohm_subagents._store.database import open_database
    from ohm_subagents._store.opening import no_seam

    store = open_database(
        file.parent,
        clock=system_clock,
        policy=_ALL,
        sync=config.subagents.store_sync,
        name_of=name_of,
        seam=no_seam,
    )
    try:
        yield _Database(store, file)
    finally:
        store.close()


def _names(cwd: Path, directory: Path) -> Callable[[str], str]:
    """Names of profiles, which are read only if they are asked for; those of plugins are called by their ids."""

    @cache
    def names() -> dict[str, str]:
        catalog = load_catalog(cwd=cwd, config_dir=directory, plugin_profiles=())
        return {profile.id: profile.name for profile in catalog.profiles}

    return lambda profile_id: names().get(profile_id, profile_id)
