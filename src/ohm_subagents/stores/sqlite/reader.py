"""Reads the tables, however damaged they are: a damaged task costs itself, a damaged page what is on it."""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING, Any, Final

from ohm_subagents.contract.ids import SessionId, TaskId
from ohm_subagents.stores.sqlite.damage import is_damage
from ohm_subagents.stores.sqlite.rows import Discard
from ohm_subagents.stores.sqlite.schema import UNREADABLE, version
from ohm_subagents.stores.sqlite.stored import ALL, COLUMNS, NO_OWNER, Chunk, Row, Selection, StoredTask, damaged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.stores.sqlite.place import Asides, FileNotes

_ROWS: Final = f"SELECT {COLUMNS} FROM tasks"  # noqa: S608  names of ours
_WIDTH: Final = len(Row._fields)
_TASK: Final = (
    f"SELECT {COLUMNS}, n, lines, events.checksum FROM tasks LEFT JOIN events ON task = seq"  # noqa: S608  names of ours
    " WHERE tasks.id = ? ORDER BY n"
)
_CHUNKS: Final = "SELECT events.id, task, n, lines, checksum FROM events NOT INDEXED"
_STATE: Final = "SELECT state, checksum FROM checkpoints WHERE task = ?"
_TABLES: Final[tuple[str, ...]] = ("tasks", "events")
WITHOUT_LISTED: Final = 4
"""The last version of the tables without the column `listed`."""
_FAR: Final = 1 << 20
"""So many numbers of rows that cannot be read are passed over."""


def tolerant(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Let texts that are none be read as they are, instead of raising."""
    connection.text_factory = _text
    return connection


def _text(raw: bytes) -> str:
    return raw.decode(errors="surrogateescape")


class Reader:
    """Reads in the thread of the caller, one statement at a time: nothing else may use `connection`.

    A connection keeps its statements prepared, and two threads that asked the same at once could get each other's rows,
    however SQLite is built. `discard` gets what was put aside, for the writer to remove.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        asides: Asides,
        *,
        notes: FileNotes,
        discard: Callable[[Discard], None],
        is_sound: bool | None,
    ) -> None:
        self.is_unreadable = False
        """True once nothing could be read."""
        self._connection = tolerant(connection)
        self._connection.execute("PRAGMA query_only = ON")
        self._lock = threading.Lock()
        self._asides = asides
        self._notes = notes
        self._discard = discard
        self._sound: dict[str, bool] = {} if is_sound is None else dict.fromkeys(_TABLES, is_sound)

    def found(self, statement: str, *values: object) -> list[Any] | None:
        """Return what the file answers; None, with a note for the user, if it cannot be read."""
        try:
            return self._all(statement, values)
        except UnicodeEncodeError:  # no text, so nothing that was ever kept
            return []
        except UNREADABLE as exc:
            if self._is_damage(exc):
                self._notes.mark_damaged()
            self._note_unreadable(exc)
            return None

    def _all(self, statement: str, values: Sequence[object]) -> list[Any]:
        with self._lock:
            return self._connection.execute(statement, values).fetchall()

    def _each(self, statement: str, values: Sequence[object]) -> Iterator[tuple[Any, ...]]:
        with self._lock:
            cursor = self._connection.execute(statement, values)
        while True:
            with self._lock:
                row = cursor.fetchone()
            if row is None:
                return
            yield row

    def _is_damage(self, exc: Exception) -> bool:
        with self._lock:
            return is_damage(exc, self._connection)

    def close(self) -> None:
        """End the connection."""
        with self._lock:
            self._connection.close()

    def rows(self, selection: Selection, *, is_newest_first: bool = False) -> Iterator[Row]:
        """Yield the chosen rows; as many as are taken are read."""
        seen: set[int] = set()
        statement = f"{_ROWS} {selection.where} ORDER BY seq {'DESC' if is_newest_first else 'ASC'}"
        try:
            for row in self._each(statement, selection.values):
                seen.add(row[0])
                yield Row._make(row)
            is_short = len(seen) < self._count() if selection == ALL else not seen
            is_torn = is_short and not self._is_whole("tasks")
        except UnicodeEncodeError:
            return
        except UNREADABLE as exc:
            is_torn = self._is_damage(exc)
            if not is_torn:
                self._note_unreadable(exc)
        if is_torn:
            rest = [each.row for each in self._survivors() if each.row.seq not in seen and selection.fits(each.row)]
            yield from reversed(rest) if is_newest_first else rest

    def number(self, selection: Selection) -> int:
        """Return how many rows are chosen."""
        found = self.found(f"SELECT count(*) FROM tasks {selection.where}", *selection.values)  # noqa: S608  names of ours
        return int(found[0][0]) if found else sum(1 for _ in self.rows(selection))

    def task(self, task_id: TaskId) -> StoredTask | None:
        """Return all that there is of a task, as it is at one moment."""
        try:
            found = self._all(_TASK, (task_id,))
            if found:
                row, states = Row._make(found[0][:_WIDTH]), self._all(_STATE, found[0][:1])
                chunks = tuple(Chunk._make(each[_WIDTH:]) for each in found if each[_WIDTH] is not None)
                if (chunks and chunks[-1].n == len(chunks)) or self._is_whole("events"):
                    saved, checksum = states[0] if states else (None, None)
                    return StoredTask(row=row, chunks=chunks, state=saved, state_checksum=checksum)
            is_torn = bool(found) or not self._is_whole("tasks")
        except UnicodeEncodeError:
            return None
        except UNREADABLE as exc:
            is_torn = self._is_damage(exc)
            if not is_torn:
                self._note_unreadable(exc)
        return next((each for each in self._survivors() if each.row.id == task_id), None) if is_torn else None

    def checkpoint(self, stored: StoredTask) -> str | None:
        """Return the conversation state of a task; a damaged one is noted and left out."""
        if stored.state is not None and stored.checkpoint is None:
            self._notes.note_once(
                f"The conversation of task '{stored.row.id}' is damaged and left out; what continues it starts from its"
                " prompts and answers."
            )
        return stored.checkpoint

    def put_aside(self, stored: StoredTask, wrong: str) -> OhmError:
        """Keep a damaged task as a file of its own, have it removed from the tables, and return its error."""
        task_id = stored.row.id
        try:
            place = self._asides.put(stored)
        except OSError as exc:
            self._notes.note_once(
                f"{damaged(task_id, wrong).message} It stays there, for it cannot be put aside: {exc}."
            )
            return damaged(task_id, wrong)
        self._discard(Discard(number=stored.row.seq, task_id=task_id))
        error = damaged(task_id, wrong, place)
        self._notes.note_once(error.message)
        return error

    def _count(self) -> int:
        found = self.found("SELECT n FROM counts WHERE what = 'tasks'")
        return int(found[0][0]) if found else 0

    def _is_whole(self, table: str) -> bool:
        """Return True if the indexes of a table are complete; checked once, when something is first missed."""
        if table not in self._sound:
            answer = self.found(f"PRAGMA integrity_check('{table}')")
            self._sound[table] = answer is None or answer == [("ok",)]
        return self._sound[table]

    def _survivors(self) -> list[StoredTask]:
        self._sound = dict.fromkeys(_TABLES, False)
        self._notes.mark_damaged()
        with self._lock:
            found = [*survivors(self._connection)]
        every = [
            each for each in found if each.row.id and (each.row.owner != NO_OWNER or each.row.ended_ms is not None)
        ]
        if not every:
            self._note_unreadable("it is damaged")
        return every

    def _note_unreadable(self, why: object) -> None:
        if not self.is_unreadable:
            self._notes.note_once(f"The registry of tasks cannot be read, and only tasks in memory are known: {why}.")
        self.is_unreadable = True


def survivors(connection: sqlite3.Connection) -> Iterator[StoredTask]:
    """Yield every task that can be read of damaged tables, oldest first."""
    chunks: dict[int, list[Chunk]] = {}
    for _, task, *chunk in numbered(connection, _CHUNKS, "events.id"):
        chunks.setdefault(task, []).append(Chunk._make(chunk))
    for columns in numbered(connection, f"{_rows_select(connection)} NOT INDEXED", "seq"):
        row = Row._make(columns)
        stored = _survivor(connection, row, chunks.pop(row.seq, ()))
        yield stored if row.wrong is None else stored.with_row_of_log()
    for seq, of_task in sorted(chunks.items(), key=str):
        lost = Row(seq, TaskId(""), SessionId(""), NO_OWNER, "queued", None, "", None, 0, None)
        yield _survivor(connection, lost, of_task).with_row_of_log()


def _rows_select(connection: sqlite3.Connection) -> str:
    try:
        has_listed = version(connection) > WITHOUT_LISTED
    except UNREADABLE:
        has_listed = True
    return _ROWS if has_listed else _ROWS.replace("listed", "NULL")


def _survivor(connection: sqlite3.Connection, row: Row, chunks: Iterable[Chunk]) -> StoredTask:
    in_order = tuple(sorted(chunks, key=lambda chunk: (type(chunk.n) is int and chunk.n) or 0))
    state, checksum = _asked(connection, _STATE, row.seq) or (None, None)
    return StoredTask(row=row, chunks=in_order, state=state, state_checksum=checksum)


def numbered(connection: sqlite3.Connection, select: str, number: str) -> Iterator[tuple[Any, ...]]:
    """Yield rows in the order of their number, which is their first column; after an unreadable page from the next."""
    after = 0
    while True:
        row, reached = _next(connection, select, number, after)
        for each in range(after + 1, reached + 1):  # these are on the page or right behind it
            one = _asked(connection, f"{select} WHERE {number} = ?", each)
            if one is not None and one[0] == each:
                yield one
        if row is None or row[0] <= after:
            return
        yield row
        after = row[0]


def _next(connection: sqlite3.Connection, select: str, number: str, after: int) -> tuple[tuple[Any, ...] | None, int]:
    """Return the first row behind a number that can be reached, and the number behind which it was looked for."""
    step = 0
    while step < _FAR:
        try:
            statement = f"{select} WHERE {number} > ? ORDER BY {number} LIMIT 1"
            return _first(connection, statement, after + step), after + step
        except UNREADABLE:
            step = step * 2 or 1
    return None, after


def _asked(connection: sqlite3.Connection, statement: str, value: int) -> tuple[Any, ...] | None:
    try:
        return _first(connection, statement, value)
    except (sqlite3.Error, UnicodeError):
        return None


def _first(connection: sqlite3.Connection, statement: str, value: int) -> tuple[Any, ...] | None:
    found: tuple[Any, ...] | None = connection.execute(statement, (value,)).fetchone()
    return found
