"""Records that are read of a task: its row in the index, its log, its checkpoint; and selections of rows."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.profile import fold_id
from ohm_subagents.contract.result import Err, Result
from ohm_subagents.store import listed_from_text, listed_to_text, task_of_log

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ohm_subagents.contract.ids import SessionId, TaskId
    from ohm_subagents.contract.listed_task import ListedTask
    from ohm_subagents.contract.task import Status, Task
    from ohm_subagents.store import TaskQuery

COLUMNS: Final = "seq, tasks.id, session_id, owner, status, ended_ms, profile, listed, tasks.checksum, expired_ms"
OTHER_TYPES: Final = "it has values of other types than it was written with"
NOT_AS_WRITTEN: Final = "it is not what was written"
NO_OWNER: Final = 0


class Row(NamedTuple):
    """A row of `tasks` as it is in the file; where that is damaged, of any types."""

    seq: int
    id: TaskId
    session_id: SessionId
    owner: int
    status: Status
    ended_ms: int | None
    profile: str
    listed: str | None
    checksum: int
    expired_ms: int | None

    @property
    def wrong(self) -> str | None:
        """The difference from what was written, or None."""
        if type(self.id) is not str:
            return OTHER_TYPES
        return None if self.checksum == row_checksum(*self[1:8]) else NOT_AS_WRITTEN

    @property
    def listed_task(self) -> ListedTask | None:
        """The part of the task that a list shows; None if only its log can tell."""
        if self.listed is None or self.wrong is not None:
            return None
        return listed_from_text(
            self.listed, id=self.id, session_id=self.session_id, status=self.status, ended_ms=self.ended_ms
        )


class Chunk(NamedTuple):
    """A row of `events`: some lines of a log, the `n`-th of them."""

    n: int
    lines: bytes
    checksum: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTask:
    """All that the file holds of one task."""

    row: Row
    chunks: tuple[Chunk, ...]
    state: str | None = None
    state_checksum: int | None = None

    @property
    def wrong(self) -> str | None:
        """The difference from what was written, or None."""
        return self.row.wrong or self._wrong_log

    @property
    def _wrong_log(self) -> str | None:
        for n, chunk in enumerate(self.chunks, 1):
            if type(chunk.lines) is not bytes:
                return OTHER_TYPES
            if chunk.n != n or chunk.checksum != chunk_checksum(self.row.seq, n, chunk.lines):
                return NOT_AS_WRITTEN
        return None if self.chunks else "its log is gone"

    def with_row_of_log(self) -> StoredTask:
        """Return it with a row made anew from its log, which no owner has; as it is where the log is damaged too."""
        folded = Err(self._wrong_log) if self._wrong_log is not None else self.task()
        if isinstance(folded, Err):
            return self
        columns = index_columns(folded.ok_value, NO_OWNER)
        return replace(self, row=Row(self.row.seq, *columns, row_checksum(*columns), None))

    @property
    def log(self) -> bytes:
        """All lines of its log."""
        return b"".join(chunk.lines for chunk in self.chunks)

    @property
    def checkpoint(self) -> str | None:
        """The conversation state; None if there is none, or a damaged one."""
        return self.state if self.state is not None and self.state_checksum == state_checksum(self.state) else None

    def task(self) -> Result[Task, str]:
        """Fold the log, or say why that is impossible."""
        return task_of_log(self.log)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Some rows of `tasks`: for SQLite as a clause, and for a damaged file row by row."""

    equal: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    """Columns and their values; None is NULL."""
    id_part: str = ""
    facts: tuple[str, ...] = ()
    """Parts of `listed` that each task has; a row without `listed` is chosen too: its log decides."""
    ended_after_ms: int | None = None
    """Only what has not ended, or later than this."""
    now_ms: int | None = None
    """Without what was found to be past its time by now."""
    leaving: frozenset[str] = frozenset()
    """Without these ids: they have made room, though their rows may still be there."""

    @classmethod
    def of(cls, query: TaskQuery, *, now_ms: int, ended_after_ms: int, leaving: Iterable[str]) -> Selection:
        """Return the rows that a query chooses, without those past their time and those that leave."""
        profile = None if query.profile is None else fold_id(query.profile)
        named = {"status": query.status, "session_id": query.session, "profile": profile}
        equal = {column: value for column, value in named.items() if value is not None}
        asked = {"call": query.call, "parent": query.parent, "start": query.start}
        facts = tuple(json.dumps({name: value})[1:-1] for name, value in asked.items() if value is not None)
        return cls(
            equal=equal,
            id_part=query.id_part,
            facts=facts,
            ended_after_ms=ended_after_ms,
            now_ms=now_ms,
            leaving=frozenset(leaving),
        )

    @property
    def where(self) -> str:
        """The clause, with a `?` for each of `values`."""
        clauses = [f"tasks.{column} {'IS NULL' if value is None else '= ?'}" for column, value in self.equal.items()]
        clauses += ["? IN (substr(tasks.id, 1, length(?)), substr(tasks.id, -length(?)))"] if self.id_part else []
        clauses += ["ifnull(instr(listed, ?), 1)" for _ in self.facts]
        clauses += ["ifnull(ended_ms > ?, 1)"] if self.ended_after_ms is not None else []
        clauses += ["ifnull(expired_ms > ?, 1)"] if self.now_ms is not None else []
        clauses += ["tasks.id NOT IN (SELECT value FROM json_each(?))"] if self.leaving else []
        return f"WHERE {' AND '.join(clauses)}" if clauses else ""

    @property
    def values(self) -> tuple[object, ...]:
        """The values that the clause compares with."""
        part = (self.id_part,) * 3 if self.id_part else ()
        leaving = json.dumps([*self.leaving]) if self.leaving else None
        values = (*self.equal.values(), *part, *self.facts, self.ended_after_ms, self.now_ms, leaving)
        return tuple(value for value in values if value is not None)

    def fits(self, row: Row) -> bool:
        """Return True for one of these rows."""
        return (
            all(getattr(row, column) == value for column, value in self.equal.items())
            and (str(row.id).startswith(self.id_part) or str(row.id).endswith(self.id_part))
            and (row.listed is None or all(fact in row.listed for fact in self.facts))
            and (self.ended_after_ms is None or row.ended_ms is None or row.ended_ms > self.ended_after_ms)
            and (self.now_ms is None or row.expired_ms is None or row.expired_ms > self.now_ms)
            and row.id not in self.leaving
        )


ALL: Final = Selection()


def index_columns(task: Task, owner: int) -> tuple[TaskId, SessionId, int, Status, int | None, str, str]:
    """Return what the index says of a task, which `row_checksum` sums up."""
    profile = fold_id(task.assignment.profile)
    return task.id, task.session_id, owner, task.status, task.ended_ms, profile, listed_to_text(task)


def row_checksum(*columns: object) -> int:
    """Sum up what a row of `tasks` says, so that a reader knows if it still says so; the last is that of a list."""
    written = columns if columns[-1] is not None else columns[:-1]  # version 4 had no such column
    return zlib.crc32("\0".join(map(str, written)).encode(errors="replace"))


def chunk_checksum(task: int, n: int, lines: bytes) -> int:
    """Sum up a chunk of the log of a task."""
    return zlib.crc32(lines, zlib.crc32(b"%d:%d" % (task, n)))


def state_checksum(state: str) -> int:
    """Sum up a checkpoint."""
    return zlib.crc32(state.encode(errors="replace"))


def damaged(task_id: str, wrong: str, place: Path | None = None) -> OhmError:
    """Return the error for a task that cannot be read; `place` is the file that keeps what there is of it."""
    kept = "" if place is None else f" It was put aside: '{place}'."
    message = f"Task '{task_id}' cannot be read: its row is damaged, {wrong}.{kept}"
    return OhmError(code=ErrorCode.UNKNOWN_TASK_ID, message=message, advice="Start a new task.")
