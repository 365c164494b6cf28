"""Rows of tasks as they are read, and what is asked of them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ohm_postgres import owners
from ohm_subagents.contract import ErrorCode, SessionId, TaskId
from ohm_subagents.store import Err, OhmError, Ok, Process, fold_id, listed_from_text, listed_to_text, task_of_log

if TYPE_CHECKING:
    from ohm_subagents.contract import Status
    from ohm_subagents.store import ListedTask, Result, Task, TaskQuery

_UNWRITABLE: Final = re.compile("[\\\\\0\ud800-\udfff]")
_WRITTEN: Final = re.compile(r"\\u([0-9a-f]{4})")


def to_text(text: str) -> str:
    """Return the text as PostgreSQL can keep it: it has no NUL, and no half of a pair of surrogates."""
    return _UNWRITABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def from_text(text: str) -> str:
    """Return what `to_text` was given."""
    return _WRITTEN.sub(lambda found: chr(int(found[1], 16)), text)


def or_none(text: str | None) -> str | None:
    """Return `to_text` of a text that may be missing."""
    return None if text is None else to_text(text)


def process_of(pid: int | None, started: str | None, boot: str | None, namespace: str | None) -> Process | None:
    """Return the process of an owner, or None if that has left."""
    if pid is None:
        return None
    return Process(pid=pid, started=started or "", boot=boot or "", namespace=namespace or "")


def is_at_work(process: Process | None, *, is_leased: bool | None) -> bool:
    """Return True for an owner that lives: by its process where that can be seen, else by its lease."""
    if process is None:
        return False
    return process.is_running() if process.is_seen_here else bool(is_leased)


class Row(NamedTuple):
    """A row of `ohm_tasks`, and who works on it."""

    seq: int
    id: TaskId
    session_id: SessionId
    owner: int
    status: Status
    ended_ms: int | None
    listed: str
    expired_ms: int | None
    pid: int | None
    started: str | None
    boot: str | None
    namespace: str | None
    is_leased: bool | None
    log: bytes | None = None
    """Only of a whole task."""
    state: bytes | None = None
    """The conversation state, only of a whole task."""

    @classmethod
    def of(cls, columns: tuple[Any, ...]) -> Row:
        """Return the row that was read."""
        row = cls._make((*columns, None, None)[: len(cls._fields)])
        return row._replace(id=TaskId(from_text(row.id)), session_id=SessionId(from_text(row.session_id)))

    @property
    def process(self) -> Process | None:
        """The process that works on it, or None if its owner has left."""
        return process_of(self.pid, self.started, self.boot, self.namespace)

    @property
    def has_living_owner(self) -> bool:
        """True if its owner is at work: by its process where that can be seen, else by its lease."""
        return is_at_work(self.process, is_leased=self.is_leased)

    @property
    def listed_task(self) -> ListedTask | None:
        """The part of the task that a list shows; None if only its log can tell."""
        return listed_from_text(
            self.listed, id=self.id, session_id=self.session_id, status=self.status, ended_ms=self.ended_ms
        )

    def task(self) -> Result[Task, OhmError]:
        """Fold the log of a whole task, or return the error that says why that is impossible."""
        folded = task_of_log(self.log or b"")
        if isinstance(folded, Err):
            return Err(unreadable(self.id, folded.err_value))
        task = folded.ok_value
        state = None if self.state is None else self.state.decode(errors="replace")
        return Ok(replace(task, activity=replace(task.activity, checkpoint=state)))


_INDEX: Final = f"t.seq, t.id, t.session_id, t.owner, t.status, t.ended_ms, t.listed, t.expired_ms, {owners.COLUMNS}"
_FROM: Final = "FROM ohm_tasks t LEFT JOIN ohm_owners o ON o.id = t.owner"
ROWS: Final = f"SELECT {_INDEX} {_FROM}"
"""Rows of the index."""
TASKS: Final = (
    f"SELECT {_INDEX}, (SELECT string_agg(lines, ''::bytea ORDER BY n) FROM ohm_events WHERE task = t.seq),"
    f" (SELECT state FROM ohm_checkpoints WHERE task = t.seq) {_FROM}"
)
"""Whole tasks."""
ENTRIES: Final = f"SELECT b.n, {_INDEX} {_FROM} JOIN ohm_outbox b ON b.task = t.seq"
"""Rows of the index as the outbox has them, each behind its number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Some rows: a condition, and the values that it compares with."""

    clauses: tuple[str, ...] = ()
    values: tuple[object, ...] = ()

    @classmethod
    def of(cls, query: TaskQuery, *, now_ms: int, ended_after_ms: int) -> Selection:
        """Return the rows that a query chooses, without those past their time."""
        chosen = cls(
            clauses=("(t.ended_ms IS NULL OR t.ended_ms > %s)", "(t.expired_ms IS NULL OR t.expired_ms > %s)"),
            values=(ended_after_ms, now_ms),
        )
        asked = {
            "status": query.status,
            "session_id": query.session,
            "profile": None if query.profile is None else fold_id(query.profile),
            "call": query.call,
            "parent": query.parent,
        }
        for column, value in asked.items():
            if value is not None:
                chosen = chosen.also(f"t.{column} = %s", to_text(value))
        if query.start is not None:
            chosen = chosen.also("strpos(t.listed, %s) > 0", json.dumps({"start": query.start})[1:-1])
        if query.id_part:
            part = to_text(query.id_part)
            chosen = chosen.also("%s IN (left(t.id, length(%s)), right(t.id, length(%s)))", part, part, part)
        return chosen

    def also(self, clause: str, *values: object) -> Selection:
        """Return those of the rows for which this holds too."""
        return Selection(clauses=(*self.clauses, clause), values=(*self.values, *values))

    @property
    def where(self) -> str:
        """The clause, with a `%s` for each of `values`."""
        return f"WHERE {' AND '.join(self.clauses)}" if self.clauses else ""


def index_columns(task: Task, owner: int) -> tuple[object, ...]:
    """Return the columns `id` to `listed` of a task."""
    assignment = task.assignment
    return (
        to_text(task.id),
        to_text(task.session_id),
        owner,
        task.status,
        task.ended_ms,
        to_text(fold_id(assignment.profile)),
        or_none(assignment.call),
        or_none(assignment.parent),
        listed_to_text(task),
    )


def unreadable(task_id: str, wrong: str) -> OhmError:
    """Return the error for a task that cannot be read."""
    return OhmError(
        code=ErrorCode.UNKNOWN_TASK_ID, message=f"Task '{task_id}' cannot be read: {wrong}.", advice="Start a new task."
    )
