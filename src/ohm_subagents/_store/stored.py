"""A row of the table of tasks, and which of them somebody wants."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ohm_subagents._store.record import checksum
from ohm_subagents.contract.profile import fold_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents.contract.ids import SessionId, TaskId
    from ohm_subagents.contract.task import Task

COLUMNS: Final = (
    "seq, id, session_id, owner, status, ended_ms, updated_ms, tasks.format, record, large_outputs, tasks.checksum,"
    " expired_ms"
)


class Stored(NamedTuple):
    """A row of `tasks` with its checkpoint, as it is in the file; where that is damaged, of any types."""

    seq: int
    id: TaskId
    session_id: str
    owner: int
    status: str
    ended_ms: int | None
    updated_ms: int
    format: int
    record: bytes | str
    large_outputs: str
    checksum: int | None
    expired_ms: int | None
    state: str | None
    state_checksum: int | None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of those of `tasks`."""
        return self._fields[:-2]

    @property
    def values(self) -> tuple[object, ...]:
        """And what they hold."""
        return self[:-2]

    @property
    def content(self) -> bytes:
        """The record; a tool that changes it may leave a text."""
        return self.record if isinstance(self.record, bytes) else self.record.encode(errors="surrogateescape")

    @property
    def wrong(self) -> str | None:
        """Why this is not what was written. What an earlier version wrote has no checksum."""
        if type(self.record) not in {bytes, str} or type(self.id) is not str:
            return "it has values of other types than it was written with"
        if self.checksum is not None:
            expected = checksum(*self[1:6], self.content, self.large_outputs)
            return None if self.checksum == expected else "it is not what was written"
        try:
            json.loads(self.record)
            numbers = json.loads(self.large_outputs)
        except (ValueError, TypeError, RecursionError):
            return "it holds no JSON"
        is_list = isinstance(numbers, list) and all(type(each) is int for each in cast("list[object]", numbers))
        return None if is_list else "it names no outputs"


@dataclass(frozen=True, slots=True)
class Which:
    """Some of the tasks: as the file is asked for them, and by what they are known where it cannot be asked."""

    where: str
    values: tuple[str | int, ...]
    known_by: Mapping[str, object]

    def fits(self, row: Stored) -> bool:
        """Whether a row is one of them."""
        return all(getattr(row, column) == value for column, value in self.known_by.items())


ALL: Final = Which("ORDER BY seq", (), MappingProxyType({}))


def with_id(task_id: TaskId) -> Which:
    """One task."""
    return Which("WHERE tasks.id = ?", (task_id,), {"id": task_id})


def of_session(session_id: SessionId) -> Which:
    """Those that share a context."""
    return Which("WHERE session_id = ? ORDER BY seq", (session_id,), {"session_id": session_id})


def live_of(owner: int) -> Which:
    """Those that an owner has not brought to an end."""
    return Which("WHERE owner = ? AND ended_ms IS NULL ORDER BY seq", (owner,), {"owner": owner, "ended_ms": None})


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Which tasks a list shows: of a status, a session, a profile, and what ended `after_ms` or did not end yet.

    Without what was found to be past its time by `now_ms`.
    """

    status: str | None = None
    session: str | None = None
    profile: str | None = None
    beginning: str = ""
    after_ms: int | None = None
    now_ms: int | None = None

    @property
    def where(self) -> str:
        """For the file, with the `values` in their places."""
        said = [clause for clause, value in self._clauses if value is not None]
        return f"WHERE {' AND '.join(said)}" if said else ""

    @property
    def values(self) -> tuple[str | int, ...]:
        """What to compare with."""
        return tuple(value for _, value in self._clauses if value is not None)

    @property
    def _clauses(self) -> tuple[tuple[str, str | int | None], ...]:
        return (
            ("status = ?", self.status),
            ("session_id = ?", self.session),
            ("folded(record) = ?", None if self.profile is None else fold_id(self.profile)),
            ("instr(id, ?) = 1", self.beginning or None),
            ("ifnull(ended_ms > ?, 1)", self.after_ms),
            ("ifnull(expired_ms > ?, 1)", self.now_ms),
        )

    def holds(self, task: Task) -> bool:
        """Whether a task is one of them."""
        return (
            self.status in {None, task.status}
            and self.session in {None, task.session_id}
            and (self.profile is None or fold_id(self.profile) == fold_id(task.assignment.profile))
            and task.id.startswith(self.beginning)
            and (self.after_ms is None or task.ended_ms is None or task.ended_ms > self.after_ms)
        )

    def fits(self, row: Stored) -> bool:
        """Whether a row is one of them, where the file cannot be asked."""
        return (
            self.status in {None, row.status}
            and self.session in {None, row.session_id}
            and (self.profile is None or fold_id(self.profile) == folded_profile(row.record))
            and str(row.id).startswith(self.beginning)
            and (self.after_ms is None or row.ended_ms is None or row.ended_ms > self.after_ms)
        )


EVERY: Final = Listing()


def folded_profile(record: bytes | str) -> str | None:
    """The profile of a task, as its id is compared."""
    try:
        profile: object = json.loads(record)["profile"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return fold_id(profile) if isinstance(profile, str) else None
