"""What is written in the tables, a statement or two each; the caller holds the transaction."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_subagents._store.record import FORMAT, checksum, state_checksum, written
from ohm_subagents._store.retention import evicted_why, expired_why
from ohm_subagents._store.stored import COLUMNS, Stored
from ohm_subagents.contract.events import Checkpointed, TaskQueued

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping

    from ohm_subagents._store.owner import Process
    from ohm_subagents._store.retention import RetentionPolicy
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Task

STEP: Final = 500
"""How many tasks are removed in one transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A task as it goes into its table."""

    task: Task
    record: bytes
    large: Mapping[int, str]

    @classmethod
    def of(cls, task: Task) -> Row:
        record, large = written(task)
        return cls(task=task, record=record, large=large)

    def values(self, owner: int) -> tuple[str, int, int | None, int, bytes, str, int]:
        task, large = self.task, json.dumps([*self.large])
        summed = checksum(task.id, task.session_id, owner, task.status, task.ended_ms, self.record, large)
        return task.status, task.updated_ms, task.ended_ms, FORMAT, self.record, large, summed


class Unsaved:
    """Rows that are not in the file yet: the newest state of each task, and what is to be done with it."""

    def __init__(self) -> None:
        self.tasks: dict[TaskId, Task] = {}
        self.created: set[TaskId] = set()
        self.with_checkpoint: set[TaskId] = set()

    def add(self, task: Task, event: object) -> None:
        """A transition; it replaces the ones before."""
        self.tasks[task.id] = task
        if isinstance(event, TaskQueued):
            self.created.add(task.id)
        if isinstance(event, Checkpointed) or (isinstance(event, TaskQueued) and task.activity.checkpoint is not None):
            self.with_checkpoint.add(task.id)


_OLDEST: Final = "FROM tasks WHERE ended_ms IS NOT NULL AND expired_ms IS NULL ORDER BY ended_ms, seq LIMIT ?"
_INSERT: Final = (
    "INSERT INTO tasks (id, session_id, owner, status, updated_ms, ended_ms, format, record,"
    " large_outputs, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
)
_UPDATE: Final = (
    "UPDATE tasks SET status = ?, updated_ms = ?, ended_ms = ?, format = ?, record = ?, large_outputs = ?,"
    " checksum = ?, owner = ? WHERE id = ? AND owner = ? AND ended_ms IS NULL"
)


def insert(connection: sqlite3.Connection, row: Row, owner: int) -> bool:
    """A new task; False if another one that is not over has its id. One that is over makes room."""
    task = row.task
    values = (task.id, task.session_id, owner, *row.values(owner))
    if connection.execute(_INSERT, values).rowcount:
        return True
    connection.execute("DELETE FROM tasks WHERE id = ? AND ended_ms IS NOT NULL", (task.id,))
    return connection.execute(_INSERT, values).rowcount == 1


def update(connection: sqlite3.Connection, row: Row, owner: int, *, former: int | None = None) -> bool:
    """The newest state; False if the task does not belong to `former` (or `owner`) any more."""
    whose = owner if former is None else former
    return connection.execute(_UPDATE, (*row.values(owner), owner, row.task.id, whose)).rowcount == 1


def save_checkpoint(connection: sqlite3.Connection, task: Task, *, max_chars: int) -> bool:
    """The newest conversation state; False if it is too long, and then there is none."""
    state = task.activity.checkpoint or ""
    if len(state) > max_chars:
        connection.execute("DELETE FROM checkpoints WHERE task_id = ?", (task.id,))
        return False
    text = state.encode(errors="replace").decode()
    connection.execute(
        "INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?) ON CONFLICT (task_id) DO UPDATE SET"
        " backend = excluded.backend, format = excluded.format, state = excluded.state, checksum = excluded.checksum",
        (task.id, task.assignment.backend, FORMAT, text, state_checksum(text)),
    )
    return True


def discard(connection: sqlite3.Connection, number: int, task_id: str) -> None:
    """Let go of a damaged row, which is kept elsewhere."""
    connection.execute("DELETE FROM tasks WHERE seq = ? AND id = ?", (number, task_id))


def remove_old(
    connection: sqlite3.Connection, policy: RetentionPolicy, now_ms: int, leaving: Mapping[TaskId, str]
) -> tuple[dict[TaskId, tuple[int, ...]], list[TaskId], bool]:
    """Remove what leaves, or is too much, and hide what is past its time.

    Gives what was removed with the numbers of its outputs, what was hidden, and whether that was all.
    """
    gone: dict[TaskId, tuple[int, ...]] = {}
    if leaving:
        named = ",".join("?" * len(leaving))
        left = connection.execute(f"SELECT id, large_outputs FROM tasks WHERE id IN ({named})", [*leaving]).fetchall()  # noqa: S608  question marks
        gone |= _remove(connection, left, leaving.__getitem__)
    expired = _expire(connection, policy, now_ms)
    recount(connection)
    kept = count(connection, "tasks") - count(connection, "expired")
    too_many = min(kept - policy.max_entries, STEP - len(expired))
    if too_many > 0:
        gone |= _remove(connection, oldest(connection, too_many), lambda _: evicted_why(policy))
    gone |= _remove_expired(connection, policy, now_ms)
    connection.execute(
        "DELETE FROM gone WHERE seq IN (SELECT seq FROM gone ORDER BY seq LIMIT ?)",
        (max(0, count(connection, "gone") - policy.max_reasons),),
    )
    return gone, expired, max(len(expired), too_many) < STEP


def bring_back(connection: sqlite3.Connection, now_ms: int) -> None:
    """What was hidden by a clock that has gone back since."""
    back = connection.execute("SELECT id FROM tasks WHERE expired_ms > ?", (now_ms,)).fetchall()
    connection.executemany("UPDATE tasks SET expired_ms = NULL WHERE id = ?", back)
    connection.executemany("DELETE FROM gone WHERE id = ?", back)


def _expire(connection: sqlite3.Connection, policy: RetentionPolicy, now_ms: int) -> list[TaskId]:
    """Hide what is past its time."""
    found = connection.execute(
        f"SELECT {COLUMNS}, NULL, NULL FROM tasks WHERE ended_ms <= ? AND expired_ms IS NULL"  # noqa: S608  names of ours
        " ORDER BY ended_ms, seq LIMIT ?",
        (now_ms - policy.retention_ms, STEP),
    )
    past = [row.id for row in map(Stored._make, found.fetchall()) if row.wrong is None]  # else its end is a guess
    connection.executemany("UPDATE tasks SET expired_ms = ? WHERE id = ?", [(now_ms, each) for each in past])
    _remember(connection, past, lambda _: expired_why(policy))
    return past


def _remove_expired(
    connection: sqlite3.Connection, policy: RetentionPolicy, now_ms: int
) -> dict[TaskId, tuple[int, ...]]:
    """Of what is hidden, what there is no room for: nothing goes for good because of what a clock says."""
    over = min(count(connection, "tasks") - policy.max_entries, STEP)
    if over <= 0:
        return {}
    found = connection.execute(
        "SELECT id, large_outputs FROM tasks WHERE expired_ms <= ? ORDER BY expired_ms, ended_ms, seq LIMIT ?",
        (now_ms, over),
    ).fetchall()
    connection.executemany("DELETE FROM tasks WHERE id = ?", [(task_id,) for task_id, _ in found])
    return _numbers(found)


def oldest(connection: sqlite3.Connection, number: int) -> list[tuple[TaskId, str]]:
    """So many settled tasks, the first to end first, with their large outputs."""
    return connection.execute(f"SELECT id, large_outputs {_OLDEST}", (number,)).fetchall()


def ends(connection: sqlite3.Connection, number: int) -> list[tuple[TaskId, int]]:
    """So many settled tasks, the first to end first, with their ends."""
    return connection.execute(f"SELECT id, ended_ms {_OLDEST}", (number,)).fetchall()


def _remove(
    connection: sqlite3.Connection, found: Iterable[tuple[TaskId, str]], why: Callable[[TaskId], str]
) -> dict[TaskId, tuple[int, ...]]:
    gone = _numbers(found)
    _remember(connection, gone, why)
    connection.executemany("DELETE FROM tasks WHERE id = ?", [(each,) for each in gone])
    return gone


def _remember(connection: sqlite3.Connection, task_ids: Iterable[TaskId], why: Callable[[TaskId], str]) -> None:
    connection.executemany(  # REPLACE would not fire the trigger that counts
        "INSERT INTO gone (id, why) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET why = excluded.why",
        [(each, why(each)) for each in task_ids],
    )


def _numbers(found: Iterable[tuple[TaskId, str]]) -> dict[TaskId, tuple[int, ...]]:
    """Of the outputs in files; a damaged row names none."""
    gone: dict[TaskId, tuple[int, ...]] = {}
    for task_id, large in found:
        try:
            gone[task_id] = tuple(int(number) for number in json.loads(large))
        except (ValueError, TypeError, RecursionError):
            gone[task_id] = ()
    return gone


def count(connection: sqlite3.Connection, what: str) -> int:
    """Of the rows of a table, without reading them."""
    return int(connection.execute("SELECT n FROM counts WHERE what = ?", (what,)).fetchone()[0])


def recount(connection: sqlite3.Connection) -> None:
    """By reading: a number that is damaged must not remove tasks."""
    connection.execute("UPDATE counts SET n = (SELECT count(*) FROM tasks) WHERE what = 'tasks'")
    connection.execute(
        "UPDATE counts SET n = (SELECT count(*) FROM tasks WHERE expired_ms IS NOT NULL) WHERE what = 'expired'"
    )


def beat(connection: sqlite3.Connection, owner: int, slot: int, process: Process, now_ms: int) -> None:
    """Say that the owner lives, also to one who has taken it for dead."""
    connection.execute(
        "INSERT INTO owners VALUES (?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET heartbeat_ms = excluded.heartbeat_ms",
        (owner, slot, process.pid, process.started, process.boot, process.namespace, now_ms),
    )


def save_fact(connection: sqlite3.Connection, what: str) -> None:
    """Something that is done once for a file."""
    connection.execute("INSERT OR IGNORE INTO facts VALUES (?, '')", (what,))


def is_fact(connection: sqlite3.Connection, what: str) -> bool:
    """Whether it is done."""
    return connection.execute("SELECT 1 FROM facts WHERE what = ?", (what,)).fetchone() is not None
