"""Tasks in a PostgreSQL database that processes on several machines share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ohm_postgres import owners
from ohm_postgres.control import PostgresControl
from ohm_postgres.eviction import Eviction
from ohm_postgres.listener import Listener
from ohm_postgres.log import PostgresLog
from ohm_postgres.outbox import PostgresOutbox
from ohm_postgres.reader import Loader, Reader
from ohm_postgres.stored import Row, Selection, to_text
from ohm_postgres.writer import Writer
from ohm_subagents.store import (
    Adoption,
    Err,
    Expiry,
    Notes,
    Ok,
    Recent,
    Saving,
    events_of,
    history_of_log,
    task_expired,
    unknown_task,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from psycopg import Connection

    from ohm_postgres.link import Link
    from ohm_postgres.owners import Owner
    from ohm_subagents.contract import SessionId, TaskId
    from ohm_subagents.store import (
        Diagnostic,
        ListedTask,
        OhmError,
        Recorded,
        Result,
        RetentionPolicy,
        StoreRequest,
        Task,
        TaskQuery,
    )

_UNSETTLED: Final = Selection(clauses=("t.ended_ms IS NULL",))
_OWNERS: Final = (
    f"SELECT DISTINCT ON (t.owner) 0, '', '', t.owner, '', NULL, '', NULL, {owners.COLUMNS}"
    " FROM ohm_tasks t LEFT JOIN ohm_owners o ON o.id = t.owner WHERE t.ended_ms IS NULL AND t.owner <> %s"
)


class PostgresStore:
    """Reads while the caller waits, writes in a thread of its own. `opening.opened` makes one, and `close` ends it."""

    def __init__(self, request: StoreRequest, owner: Owner, *, reading: Link, writing: Link) -> None:
        self._address = reading.address
        self._clock = request.clock
        self._owner = owner
        self._notes = Notes(str(self._address))
        self._recent = Recent()
        eviction = Eviction(request.policy, is_reader=request.is_reader)
        self._writer = Writer(writing, owner, self._notes, eviction, forget=self._forget)
        self._writer.at_heartbeat = self._look_for_the_dead
        self._queue = self._writer.queue
        self._expiry = Expiry(self._clock, request.policy, self._queue.put, is_reader=request.is_reader)
        self._reader = Reader(reading, owner, self._notes)
        self._saving = Saving(self._queue, self._recent, self._notes, clock=self._clock, written_count=self._written)
        self.save, self.save_all, self.flush = self._saving.save, self._saving.save_all, self._saving.flush
        self._loader = Loader(self._reader, self._recent, self._saving.recovered)
        is_mine, left = self._reader.is_mine, self._loader.left
        self.requests = Adoption(self._queue, self._recent, left=left, is_mine=is_mine, flush=self.flush)
        self._listener = Listener(self._address)
        self.control = PostgresControl(self._reader, owner, self._queue, self._listener)
        self.log = PostgresLog(self._reader)
        self.outbox = PostgresOutbox(self._reader, self._loader, self._queue, self._listener, recover=self._recover_all)
        self._writer.on_settled = self.outbox.wake

    def begin(self) -> None:
        """Recover what dead owners left and write it, then let the thread work."""
        self.outbox.begin()
        self._recover_all()
        self._writer.write_now(self._clock())
        self._writer.start()

    def note(self, message: str) -> None:
        """Tell of what happened on the way here."""
        self._notes.note(message)

    def _recover_all(self) -> None:
        dead = (row for row in self._reader.rows(_UNSETTLED) if not self._reader.is_live(row))
        for row, task in self._loader.tasks(dead):
            if isinstance(task, Err):
                self._notes.note_once(f"{task.err_value.message} ({row.id})")

    def _look_for_the_dead(self, connection: Connection) -> None:
        """Have the tasks of dead owners failed by those who wait for deliveries, and their requests asked about.

        In the thread of the writer.
        """
        found = connection.execute(_OWNERS, (self._owner.id,)).fetchall()
        if any(not Row.of(columns).has_living_owner for columns in found):
            self.outbox.owners_died()
            self.requests.owners_died()

    # Writing

    def _written(self) -> int:
        return self._writer.written_count

    def _forget(self, task_ids: Iterable[TaskId]) -> None:
        self._expiry.is_written()
        self._recent.forget(task_ids)

    def retain(self, policy: RetentionPolicy) -> None:
        self._expiry.retain(policy)

    def close(self) -> None:
        """Write everything, and end the connections."""
        self._listener.close()
        self._writer.close()
        self._reader.close()
        if left := self._writer.unwritten:
            self._notes.note(
                f"{len(left)} task(s) were never written and are gone with this process: {', '.join(left)}."
            )

    # Reading

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self._notes.all

    @property
    def place(self) -> str:
        return str(self._address)

    @property
    def first_sequence(self) -> int:
        return self._owner.first_sequence

    def count(self, query: TaskQuery | None = None) -> int:
        chosen = Selection(clauses=("t.expired_ms IS NULL",)) if query is None else self._selection(query)
        found = self._reader.number(chosen)
        return len(self._recent) if found is None else found

    def get(self, task_id: TaskId) -> Result[Task, OhmError]:
        if (task := self._recent.get(task_id)) is not None:
            return self._expiry.within(task)
        row = self._reader.task(task_id)
        if row is not None and not self._expiry.is_recorded(row.expired_ms):
            loaded = self._loader.task(row)
            return self._expiry.within(loaded.ok_value) if isinstance(loaded, Ok) else loaded
        if why := self._reader.found("SELECT why FROM ohm_tombstones WHERE id = %s", (to_text(task_id),)):
            return Err(task_expired(task_id, why[0][0]))
        return Err(unknown_task(task_id))

    def tasks(self) -> Iterator[Task]:
        return self._oldest_first(Selection())

    def recent(self) -> tuple[Task, ...]:
        return tuple(task for task in self._recent.all() if isinstance(self._expiry.within(task), Ok))

    def session(self, session_id: SessionId) -> tuple[Task, ...]:
        chosen = Selection(clauses=("t.session_id = %s",), values=(to_text(session_id),))
        return tuple(self._oldest_first(chosen, session_id))

    def list(self, query: TaskQuery) -> Iterator[Result[ListedTask, OhmError]]:
        return self._loader.listed(self._reader.rows(self._selection(query), is_newest_first=True))

    def _selection(self, query: TaskQuery) -> Selection:
        return Selection.of(query, now_ms=self._clock(), ended_after_ms=self._expiry.settled_after_ms)

    async def history(self, task: Task) -> tuple[Recorded, ...]:
        await self.flush()
        if task.id in self._writer.unwritten:
            return events_of(self._recent.get(task.id) or task)
        return await to_thread.run_sync(self._read_history, task)

    def _read_history(self, task: Task) -> tuple[Recorded, ...]:
        row = self._reader.task(task.id)
        return events_of(task) if row is None else history_of_log(row.log or b"")

    def _oldest_first(self, selection: Selection, session_id: SessionId | None = None) -> Iterator[Task]:
        """Yield tasks from memory where they are newer; those that are not in the database yet come last."""
        newest = {task.id: task for task in self._recent.all() if session_id in {None, task.session_id}}
        written_count = self._writer.written_count  # as it was before the database is read
        unwritten = {task_id for task_id in newest if not self._recent.is_written(task_id, written_count)}
        shown = (row for row in self._reader.rows(selection) if not self._expiry.is_recorded(row.expired_ms))
        for row, loaded in self._loader.tasks(shown):
            unwritten.discard(row.id)
            newest.pop(row.id, None)
            if isinstance(loaded, Ok) and isinstance(self._expiry.within(loaded.ok_value), Ok):
                yield loaded.ok_value
        left = newest if self._reader.is_unreachable else unwritten
        yield from (task for task_id, task in newest.items() if task_id in left)

    def is_foreign(self, task_id: TaskId) -> bool:
        return task_id not in self._recent and self._reader.is_foreign(task_id)

    def owner(self, task_id: TaskId) -> str:
        return self._reader.name_of_owner(task_id)
