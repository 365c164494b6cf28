"""Reads the tables, however damaged they are: a damaged row costs itself, a damaged page the rows on it."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any, Final

from ohm_subagents._store.record import damaged, read, state_checksum
from ohm_subagents._store.schema import is_damage
from ohm_subagents._store.stored import ALL, COLUMNS, EVERY, Stored, folded_profile
from ohm_subagents._store.transcript import replayed
from ohm_subagents._store.writer_queue import Discard
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ohm_subagents._store.files import TaskFiles
    from ohm_subagents._store.stored import Listing, Which
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.task import Task

_STATE: Final = "SELECT state, checksum FROM checkpoints WHERE task_id = ?"
_SELECT: Final = f"""SELECT {COLUMNS}, state, checkpoints.checksum
 FROM tasks LEFT JOIN checkpoints ON checkpoints.task_id = tasks.id"""  # noqa: S608  names of ours
_OUTLINE: Final = f"SELECT {COLUMNS}, NULL, NULL FROM tasks"  # noqa: S608  names of ours
_FAR: Final = 1 << 20
"""So many numbers of rows that nobody can read are looked beyond."""


def tolerant(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Gives texts that are none as they are, instead of raising."""
    connection.text_factory = _text
    connection.create_function("folded", 1, folded_profile, deterministic=True)
    return connection


def _text(raw: bytes) -> str:
    return raw.decode(errors="surrogateescape")


class Reader:
    """`tell_once` gets what a user should know, `discard` the rows that were put aside.

    `found_damage` is called when the tables themselves are damaged.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        files: TaskFiles,
        *,
        tell_once: Callable[[str], None],
        found_damage: Callable[[], None],
        discard: Callable[[Discard], None],
        is_sound: bool | None,
    ) -> None:
        self._connection = tolerant(connection)
        self._files = files
        self._tell_once = tell_once
        self._found_damage = found_damage
        self._discard = discard
        self._is_sound = is_sound
        self._is_told = False

    def found(self, statement: str, *values: str | int) -> list[Any] | None:
        """What the file answers; None, and that is told, if it cannot be read."""
        try:
            return self._connection.execute(statement, values).fetchall()
        except UnicodeEncodeError:  # no text, so nothing that was ever kept
            return []
        except sqlite3.Error as exc:
            if is_damage(exc):
                self._found_damage()
            self._tell_unreadable(exc)
            return None

    def rows(self, which: Which) -> list[Stored] | None:
        """Some of the tasks; None if none can be read."""
        try:
            found = self._connection.execute(f"{_SELECT} {which.where}", which.values).fetchall()
        except UnicodeEncodeError:
            return []
        except sqlite3.Error as exc:
            return self._survivors(which) if is_damage(exc) else self.found(f"{_SELECT} {which.where}", *which.values)
        is_short = len(found) < self._count() if which is ALL else not found
        return self._survivors(which) if is_short and not self._is_whole() else [*map(Stored._make, found)]

    def outlines(self, listing: Listing) -> Iterator[Stored]:
        """Tasks, newest first, without their checkpoints; as many as somebody takes are read."""
        seen: set[int] = set()
        try:
            for row in self._connection.execute(f"{_OUTLINE} {listing.where} ORDER BY seq DESC", listing.values):
                seen.add(row[0])
                yield Stored._make(row)
            is_torn = listing is EVERY and len(seen) < self._count() and not self._is_whole()
        except sqlite3.Error as exc:
            is_torn = is_damage(exc)
            if not is_torn:
                self.found(_OUTLINE)
        if is_torn:
            rest = (row for row in reversed(self._survivors(ALL) or []) if row.seq not in seen)
            yield from (row for row in rest if listing.fits(row))

    def number(self, listing: Listing) -> int:
        """How many tasks there are of a kind."""
        found = self.found(f"SELECT count(*) FROM tasks {listing.where}", *listing.values)  # noqa: S608  names of ours
        return int(found[0][0]) if found else sum(1 for _ in self.outlines(listing))

    def task(self, row: Stored) -> Result[Task, OhmError]:
        """The task of a row."""
        if (wrong := row.wrong) is not None:
            return Err(damaged(row.id, wrong))
        state = row.state
        if state is not None and row.state_checksum not in {None, state_checksum(state)}:
            state = None
            self._tell_once(
                f"The conversation of task '{row.id}' is damaged and left out; what continues it starts from its"
                " prompts and answers."
            )
        outputs = self._files.outputs(row.id, json.loads(row.large_outputs))
        match read(row.id, row.content, outputs=outputs, checkpoint=state):
            case Ok(task):
                return Ok(replayed(task, self._files.streamed(row.id)))
            case Err() as unreadable:
                return unreadable

    def outline(self, row: Stored) -> Result[Task, OhmError]:
        """The task of a row as the row alone knows it."""
        if (wrong := row.wrong) is not None:
            return Err(damaged(row.id, wrong))
        return read(row.id, row.content, outputs={}, checkpoint=None)

    def put_aside(self, row: Stored) -> OhmError:
        """Keep a damaged row as a file of its own, and have it taken out of the table; what is said of its task."""
        wrong = row.wrong or ""
        try:
            place = self._files.put_aside(row.id, row._asdict())
        except OSError as exc:
            self._tell_once(f"{damaged(row.id, wrong).message} It stays there, for it cannot be put aside: {exc}.")
            return damaged(row.id, wrong)
        self._discard(Discard(number=row.seq, task_id=row.id))
        error = damaged(row.id, wrong, place)
        self._tell_once(error.message)
        return error

    def _count(self) -> int:
        found = self.found("SELECT n FROM counts WHERE what = 'tasks'")
        return int(found[0][0]) if found else 0

    def _is_whole(self) -> bool:
        """Whether what an index does not know is not there: looked at once, when something is first missed."""
        if self._is_sound is None:
            answer = self.found("PRAGMA integrity_check('tasks')")
            self._is_sound = answer is None or answer == [("ok",)]
        return self._is_sound

    def _survivors(self, which: Which) -> list[Stored] | None:
        """The same, row by row."""
        self._is_sound = False
        self._found_damage()
        every = [*survivors(self._connection)]
        if every:
            return [row for row in every if which.fits(row)]
        self._tell_unreadable("it is damaged")
        return None

    def _tell_unreadable(self, why: object) -> None:
        if not self._is_told:
            self._tell_once(f"The registry of tasks cannot be read, and only tasks in memory are known: {why}.")
        self._is_told = True


def survivors(connection: sqlite3.Connection) -> Iterator[Stored]:
    """Every row that can be read of a damaged table, oldest first."""
    for row in _numbered(connection, _OUTLINE.replace("FROM tasks", "FROM tasks NOT INDEXED")):
        try:
            state = connection.execute(_STATE, (row[1],)).fetchone()
        except (sqlite3.Error, UnicodeEncodeError):
            state = None
        yield Stored._make((*row[:-2], *(state or (None, None))))


def _numbered(connection: sqlite3.Connection, select: str) -> Iterator[tuple[Any, ...]]:
    """In the order of their numbers; where a page cannot be read, from the next that can."""
    after = 0
    while True:
        row, reached = _next(connection, select, after)
        for number in range(after + 1, reached + 1):  # these are on the page or right behind it
            one = _asked(connection, f"{select} WHERE seq = ?", number)
            if one is not None and one[0] == number:
                yield one
        if row is None or row[0] <= after:
            return
        yield row
        after = row[0]


def _next(connection: sqlite3.Connection, select: str, after: int) -> tuple[tuple[Any, ...] | None, int]:
    """The first row behind a number that can be reached, and behind which number that is."""
    step = 0
    while step < _FAR:
        try:
            return _first(connection, f"{select} WHERE seq > ? ORDER BY seq LIMIT 1", after + step), after + step
        except sqlite3.Error:
            step = step * 2 or 1
    return None, after


def _asked(connection: sqlite3.Connection, statement: str, value: int) -> tuple[Any, ...] | None:
    try:
        return _first(connection, statement, value)
    except sqlite3.Error:
        return None


def _first(connection: sqlite3.Connection, statement: str, value: int) -> tuple[Any, ...] | None:
    found: tuple[Any, ...] | None = connection.execute(statement, (value,)).fetchone()
    return found
