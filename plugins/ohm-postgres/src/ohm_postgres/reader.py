"""Reads while the caller waits, one round trip for as many tasks as possible; fails the tasks of dead owners."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ohm_postgres.link import LOST
from ohm_postgres.reading_thread import ANSWER_S, ReadingThread
from ohm_postgres.stored import ROWS, TASKS, Row, Selection, to_text
from ohm_subagents.store import ELSEWHERE, NO_PROCESS, Err, ListedTask, Ok

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from ohm_postgres.link import Link
    from ohm_postgres.owners import Owner
    from ohm_subagents.store import Notes, OhmError, Recent, Result, Task

PAGE: Final = 100
"""So many rows are read at a time."""
_RETRY_S: Final = 1.0
"""While the database cannot be reached, it is tried so seldom: who reads waits for it."""


class Reader:
    """Reads; what cannot be read, because the database cannot be reached, is None or nothing, with a note."""

    def __init__(self, link: Link, owner: Owner, notes: Notes) -> None:
        self._link = link
        self._owner = owner
        self._notes = notes
        self._thread = ReadingThread()
        self._failed_s: float | None = None

    @property
    def is_unreachable(self) -> bool:
        """True if the newest attempt to read has failed."""
        return self._failed_s is not None

    def found(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]] | None:
        """Return the rows; None, with a note, where the database cannot be reached, or does not answer in time."""
        if self._failed_s is not None and time.monotonic() - self._failed_s < _RETRY_S:
            return None
        try:
            rows = self._thread.answer(partial(self._asked, statement, values))
        except (*LOST, TimeoutError) as exc:
            self._failed_s = time.monotonic()
            told = f"it has not answered for {ANSWER_S:g} s" if isinstance(exc, TimeoutError) else None
            self._notes.note_once(
                "The registry of tasks cannot be read, and only tasks in memory are known until it can:"
                f" {told or self._link.address.told(exc)}."
            )
            return None
        self._failed_s = None
        return rows

    def _asked(self, statement: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        was_open = self._link.is_open
        try:
            return self._link.connection.execute(statement.encode(), values).fetchall()
        except LOST:
            self._link.drop()
            if not was_open:  # who cannot be reached now is not there a moment later
                raise
            return self._link.connection.execute(statement.encode(), values).fetchall()

    def close(self) -> None:
        """End the connection."""
        self._thread.close()
        self._link.drop()

    def rows(self, selection: Selection, *, is_newest_first: bool = False) -> Iterator[Row]:
        """Yield the chosen rows; about as many as are taken are read."""
        order, beyond = ("DESC", "<") if is_newest_first else ("ASC", ">")
        page = selection
        while True:
            found = self.found(f"{ROWS} {page.where} ORDER BY t.seq {order} LIMIT {PAGE}", page.values) or []
            for columns in found:
                yield Row.of(columns)
            if len(found) < PAGE:
                return
            page = selection.also(f"t.seq {beyond} %s", found[-1][0])

    def task(self, task_id: str) -> Row | None:
        """Return all that there is of a task."""
        found = self.found(f"{TASKS} WHERE t.id = %s", (to_text(task_id),))
        return Row.of(found[0]) if found else None

    def tasks(self, rows: Iterable[Row]) -> dict[int, Row]:
        """Return all that there is of some tasks, by their numbers."""
        found = self.found(f"{TASKS} WHERE t.seq = ANY(%s)", ([row.seq for row in rows],)) or ()
        return {row.seq: row for row in map(Row.of, found)}

    def number(self, selection: Selection) -> int | None:
        """Return how many rows are chosen."""
        found = self.found(f"SELECT count(*) FROM ohm_tasks t {selection.where}", selection.values)
        return int(found[0][0]) if found else None

    def is_live(self, row: Row) -> bool:
        """Return True for a task that runs here, or at an owner that is alive."""
        return row.ended_ms is None and (row.owner == self._owner.id or row.has_living_owner)

    def is_foreign(self, task_id: str) -> bool:
        """Return True if another owner that is alive works on the task."""
        row = self._unsettled(task_id)
        return row is not None and row.owner != self._owner.id and row.has_living_owner

    def is_mine(self, task_id: str) -> bool:
        """Return True if the database says that this store works on the task."""
        row = self._unsettled(task_id)
        return row is not None and row.owner == self._owner.id

    def name_of_owner(self, task_id: str) -> str:
        """Return who works on the task, as `Store.owner`."""
        row = self._unsettled(task_id)
        if row is None:
            return ELSEWHERE
        if not self.is_live(row):
            return NO_PROCESS
        return f"pid {row.process.pid}" if row.process is not None and row.process.is_seen_here else ELSEWHERE

    def _unsettled(self, task_id: str) -> Row | None:
        found = self.found(f"{ROWS} WHERE t.id = %s AND t.ended_ms IS NULL", (to_text(task_id),))
        return Row.of(found[0]) if found else None


class Loader:
    """Makes tasks of rows; `recover` fails a task of a dead owner, by its number, and returns the failed task."""

    def __init__(self, reader: Reader, recent: Recent, recover: Callable[[Task, int], Task]) -> None:
        self._reader = reader
        self._recent = recent
        self._recover = recover

    def task(self, row: Row) -> Result[Task, OhmError]:
        """Return the task of a row that was read as a whole.

        Its owner was looked at in the same statement as its log: what the owner wrote last is in there.
        """
        folded = row.task()
        if isinstance(folded, Err) or folded.ok_value.is_terminal or self._reader.is_live(row):
            return folded
        return Ok(self._recover(folded.ok_value, row.owner))

    def left(self, task_id: str) -> tuple[Task, int] | None:
        """Return an unsettled task of a dead owner as it was left, and the number of the owner."""
        row = self._reader.task(task_id)
        if row is None or row.ended_ms is not None or self._reader.is_live(row):
            return None
        folded = row.task()
        return (folded.ok_value, row.owner) if isinstance(folded, Ok) else None

    def tasks(self, rows: Iterable[Row]) -> Iterator[tuple[Row, Result[Task, OhmError]]]:
        """Yield tasks from memory, or read, some at a time; without those that have been removed since."""
        page: list[Row] = []
        for row in rows:
            page.append(row)
            if len(page) == PAGE:
                yield from self._page(page)
                page = []
        yield from self._page(page)

    def _page(self, page: list[Row]) -> Iterator[tuple[Row, Result[Task, OhmError]]]:
        known = {row.seq: task for row in page if (task := self._recent.get(row.id)) is not None}
        read = self._reader.tasks(unknown) if (unknown := [row for row in page if row.seq not in known]) else {}
        for row in page:
            if row.seq in known:
                yield row, Ok(known[row.seq])
            elif row.seq in read:
                yield row, self.task(read[row.seq])

    def listed(self, rows: Iterable[Row]) -> Iterator[Result[ListedTask, OhmError]]:
        """Yield what a list shows, from memory or the rows; a log is read only where its row is no use."""
        for row in rows:
            known, listed = self._recent.get(row.id), row.listed_task
            if known is not None:
                yield Ok(ListedTask.of(known))
            elif listed is not None and (row.ended_ms is not None or self._reader.is_live(row)):
                yield Ok(listed)
            else:
                for _, task in self.tasks([row]):
                    yield Ok(ListedTask.of(task.ok_value)) if isinstance(task, Ok) else Err(task.err_value)
