"""Tasks in a SQLite file that several processes share: the default."""

from __future__ import annotations

import json
import os.path
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.store import (
    Adoption,
    Expiry,
    Recent,
    Saving,
    events_of,
    history_of_log,
    task_expired,
    unknown_task,
)
from ohm_subagents.stores.sqlite.control import SqliteControl
from ohm_subagents.stores.sqlite.loader import Loader
from ohm_subagents.stores.sqlite.log import SqliteLog
from ohm_subagents.stores.sqlite.outbox import SqliteOutbox
from ohm_subagents.stores.sqlite.owners import Neighbours, has_dead, register
from ohm_subagents.stores.sqlite.place import Asides, FileNotes, Fixed, damage_mark
from ohm_subagents.stores.sqlite.reader import Reader
from ohm_subagents.stores.sqlite.schema import connect
from ohm_subagents.stores.sqlite.stored import ALL, Selection, damaged
from ohm_subagents.stores.sqlite.wakers import Wakers
from ohm_subagents.stores.sqlite.writer import Writer

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from ohm_subagents.contract.diagnostics import Diagnostic
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.events import Recorded
    from ohm_subagents.contract.ids import SessionId, TaskId
    from ohm_subagents.contract.listed_task import ListedTask
    from ohm_subagents.contract.task import Task
    from ohm_subagents.store import RetentionPolicy, StoreRequest, TaskQuery

FILE: Final = "ohm.subagents.tasks.sqlite3"
FOLDER: Final = "ohm.subagents.tasks"
SEQUENCES: Final = 1_000_000
"""A store may give so many ids before they could meet those of its neighbour."""
_SHOWN: Final = """
SELECT sum(CASE what WHEN 'tasks' THEN n WHEN 'expired' THEN -n ELSE 0 END)
     - (SELECT count(*) FROM tasks WHERE expired_ms IS NULL AND id IN (SELECT value FROM json_each(?)))
FROM counts"""  # one statement: of what leaves, only rows that are still there count


class SqliteStore:
    """Reads in the caller's thread, or in another what may take long, and writes in a thread of its own.

    Each has a connection. `open_database` makes a store, and `close` ends it.
    """

    def __init__(
        self,
        request: StoreRequest,
        *,
        file: Path,
        writing: sqlite3.Connection,
        fault_point: Callable[[str], None],
        is_sound: bool | None,
        is_local: bool,
        make_anew: Callable[[int], SqliteStore],
    ) -> None:
        self._file = file
        self._make_anew = make_anew
        self._clock = request.clock
        self._notes = FileNotes(file)
        self.note = self._notes.note
        self._recent = Recent()
        self._asides = Asides(file.parent / FOLDER)
        self._owner = register(writing)
        self._writer = Writer(
            connection=writing,
            file=Fixed(file),
            owner=self._owner,
            policy=request.policy,
            is_reader=request.is_reader,
            notes=self._notes,
            forget=self._forget,
            fault_point=fault_point,
        )
        self._queue = self._writer.queue
        self._expiry = Expiry(self._clock, request.policy, self._queue.put, is_reader=request.is_reader)
        self._reader = self._new_reader(is_sound=is_sound)
        self._thread_reader = self._new_reader(is_sound=is_sound)
        """For what is read in threads, so that the event loop never waits for it."""
        self._neighbours = Neighbours(self._reader, self._owner)
        self._saving = Saving(self._queue, self._recent, self._notes, clock=self._clock, written_count=self._written)
        self.save, self.save_all, self.flush = self._saving.save, self._saving.save_all, self._saving.flush
        self._loader = Loader(self._reader, self._neighbours, self._recent, self._saving.recovered)
        is_mine, left = self._neighbours.is_mine, self._loader.left
        self.requests = Adoption(self._queue, self._recent, left=left, is_mine=is_mine, flush=self.flush)
        wakers = Wakers(file.parent, owner=self._owner.id, is_usable=is_local)
        self._writer.tell = wakers.tell
        commands, events, settled = self._wakers = wakers.all()
        self.control = SqliteControl(self._reader, self._neighbours, self._owner, self._queue, commands)
        self.log = SqliteLog(self._reader, self._thread_reader, events)
        self.outbox = SqliteOutbox(self._reader, self._loader, self._recent, self._queue, settled)
        self._writer.at_heartbeat = self._look_for_the_dead

    def _new_reader(self, *, is_sound: bool | None) -> Reader:
        connection, discard = connect(self._file), self._queue.put
        return Reader(connection, self._asides, notes=self._notes, discard=discard, is_sound=is_sound)

    def is_marked(self, mark: str) -> bool:
        """Return True if `begin` was given this mark once; also where that cannot be read."""
        return self._reader.found("SELECT 1 FROM meta WHERE name = ?", mark) != []

    def begin(self, mark: str | None = None) -> None:
        """Recover what dead owners left, write it with what was taken in and `mark`, then let the thread work."""
        self.outbox.begin()
        for owner in self._neighbours.dead():
            for row in self._reader.rows(Selection(equal={"owner": owner, "ended_ms": None})):
                if isinstance(loaded := self._loader.task(row), Err):
                    self._notes.note_once(loaded.err_value.message)
        self._writer.write_now(self._clock(), mark)
        self._writer.start()

    def _look_for_the_dead(self, connection: sqlite3.Connection) -> None:
        """Tell those who answer for the program of requests whose process has ended; in the thread of the writer."""
        if has_dead(connection, self._owner):
            self.requests.owners_died()

    # Writing

    def take_in(self, task: Task) -> None:
        """Keep a settled task that was kept somewhere else."""
        self._recent.keep(task)
        self._queue.put_whole(task, [(one.at_ms, one.event) for one in events_of(task)])
        self._saving.settle(task)

    def _written(self) -> int:
        return self._writer.written_count

    def _forget(self, task_ids: Iterable[TaskId]) -> None:
        self._expiry.is_written()
        self._recent.forget(task_ids)

    def retain(self, policy: RetentionPolicy) -> None:
        self._expiry.retain(policy)

    def close(self) -> None:
        """Write everything and let go of the file; what a damaged one does not take goes into the one made of it."""
        for waker in self._wakers:
            waker.close()
        self._writer.close()
        self._reader.close()
        self._thread_reader.close()
        left = self._writer.unwritten
        if left and os.path.exists(damage_mark(self._file)):
            with suppress(Exception):  # it is noted below
                anew = self._make_anew(self._owner.id)
                for task in self._recent.all():
                    if task.id in left:
                        anew.take_in(task)
                anew.close()
                self._notes.take(anew.diagnostics)
                left = anew._writer.unwritten  # noqa: SLF001  one of us
        if left:
            self.note(f"{len(left)} task(s) were never written and are gone with this process: {', '.join(left)}.")

    # Reading

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self._notes.all

    @property
    def place(self) -> str:
        return str(self._file)

    @property
    def first_sequence(self) -> int:
        return self._owner.slot * SEQUENCES + 1

    def count(self, query: TaskQuery | None = None) -> int:
        if query is not None:
            by_listed = query.call or query.parent or query.start
            return sum(1 for _ in self.list(query)) if by_listed else self._reader.number(self._selection(query))
        found = self._reader.found(_SHOWN, json.dumps([*self._writer.eviction.leaving]))
        return int(found[0][0]) if found else len(self._recent)

    def get(self, task_id: TaskId) -> Result[Task, OhmError]:
        if (task := self._recent.get(task_id)) is not None:
            return self._within_retention(task)
        stored = self._reader.task(task_id)
        if stored is not None and not self._expiry.is_recorded(stored.row.expired_ms):
            loaded = self._loader.task(stored.row, stored)
            if loaded is not None:
                return self._within_retention(loaded.ok_value) if isinstance(loaded, Ok) else loaded
        if why := self._reader.found("SELECT why FROM tombstones WHERE id = ?", task_id):
            return Err(task_expired(task_id, why[0][0]))
        aside = self._asides.file(task_id)
        if os.path.exists(aside):
            return Err(damaged(task_id, "and was taken out of the table", aside))
        return Err(unknown_task(task_id))

    def _within_retention(self, task: Task) -> Result[Task, OhmError]:
        """Return the task, or the error if it is past its time or has made room, removed yet or not."""
        if (why := self._writer.eviction.leaving.get(task.id)) is not None:
            return Err(task_expired(task.id, why))
        return self._expiry.within(task)

    def tasks(self) -> Iterator[Task]:
        return self._oldest_first(ALL)

    def recent(self) -> tuple[Task, ...]:
        newest = self._recent.all()
        return tuple(task for task in newest if isinstance(self._within_retention(task), Ok))

    def session(self, session_id: SessionId) -> tuple[Task, ...]:
        return tuple(self._oldest_first(Selection(equal={"session_id": session_id})))

    def list(self, query: TaskQuery) -> Iterator[Result[ListedTask, OhmError]]:
        for row in self._reader.rows(self._selection(query), is_newest_first=True):
            has_left = row.id in self._writer.eviction.leaving  # meanwhile
            if not has_left and not self._expiry.is_recorded(row.expired_ms):
                listed = self._loader.listed(row)
                if listed is not None and _fits(listed, query):
                    yield listed

    def _selection(self, query: TaskQuery) -> Selection:
        leaving = self._writer.eviction.leaving
        after_ms = self._expiry.settled_after_ms
        return Selection.of(query, now_ms=self._clock(), ended_after_ms=after_ms, leaving=leaving)

    async def history(self, task: Task) -> tuple[Recorded, ...]:
        await self.flush()
        if self._writer.is_behind(task.id):
            return events_of(self._recent.get(task.id) or task)
        return await to_thread.run_sync(self._read_history, task)

    def _read_history(self, task: Task) -> tuple[Recorded, ...]:
        stored = self._thread_reader.task(task.id)
        return events_of(task) if stored is None or stored.wrong is not None else history_of_log(stored.log)

    def _oldest_first(self, selection: Selection) -> Iterator[Task]:
        """Yield tasks from memory where they are newer; those that are not in the file yet come last."""
        mine = self._recent.all()
        wanted = selection.equal.get("session_id")
        newest = {task.id: task for task in mine if wanted in {None, task.session_id}}
        written_count = self._writer.written_count  # as it was before the file is read
        leaving = self._writer.eviction.leaving  # the same: who has left is not there again once its row is removed
        unwritten = {task_id for task_id in newest if not self._recent.is_written(task_id, written_count)}
        for row in self._reader.rows(selection):
            if row.id in leaving or self._expiry.is_recorded(row.expired_ms):
                continue
            unwritten.discard(row.id)
            known = newest.pop(row.id, None)
            loaded = self._loader.task(row) if known is None else Ok(known)
            if isinstance(loaded, Ok) and isinstance(self._within_retention(loaded.ok_value), Ok):
                yield loaded.ok_value
        yield from (task for task_id, task in newest.items() if task_id in unwritten or self._reader.is_unreadable)

    def is_foreign(self, task_id: TaskId) -> bool:
        return task_id not in self._recent and self._neighbours.work_on(task_id)

    def owner(self, task_id: TaskId) -> str:
        return self._neighbours.name_of(task_id)


def _fits(listed: Result[ListedTask, OhmError], query: TaskQuery) -> bool:
    """Return True unless a part of `listed` only looked like what was asked for."""
    if query.call is None and query.parent is None and query.start is None:
        return True
    if isinstance(listed, Err):
        return False
    task = listed.ok_value
    chosen = ((query.call, task.call), (query.parent, task.parent), (query.start, task.start))
    return all(asked in {None, own} for asked, own in chosen)
