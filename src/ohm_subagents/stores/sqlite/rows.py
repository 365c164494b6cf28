"""Changes of the tables, a statement or two each; the caller holds the transaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_subagents.store import evicted_reason, expired_reason
from ohm_subagents.stores.sqlite import outbox_rows
from ohm_subagents.stores.sqlite.control_rows import ControlChange
from ohm_subagents.stores.sqlite.stored import COLUMNS, Row, chunk_checksum, index_columns, row_checksum, state_checksum

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Mapping

    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Task
    from ohm_subagents.store import RetentionPolicy

STEP: Final = 500
"""At most so many tasks are hidden or evicted in one transaction, and as many of those hidden before removed.

What leaves comes on top: it is gone for a reader already.
"""
_OLDEST: Final = "FROM tasks WHERE ended_ms IS NOT NULL AND expired_ms IS NULL ORDER BY ended_ms, seq LIMIT ?"
_INSERT: Final = (
    "INSERT INTO tasks (id, session_id, owner, status, ended_ms, profile, listed, checksum)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
)
_UPDATE: Final = (
    "UPDATE tasks SET owner = ?, status = ?, ended_ms = ?, listed = ?, checksum = ? WHERE id = ? AND owner = ?"
)
_PLACE: Final = "SELECT seq, (SELECT ifnull(max(n), 0) + 1 FROM events WHERE task = seq) FROM tasks WHERE id = ?"
_NEXT: Final = f"{_PLACE} AND owner = ? AND ended_ms IS NULL"
_LATE: Final = f"{_PLACE} AND ended_ms IS NOT NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Discard:
    """A damaged task that was put aside."""

    number: int
    task_id: TaskId

    def write(self, connection: sqlite3.Connection) -> None:
        """Remove the task, which is kept elsewhere."""
        connection.execute("DELETE FROM tasks WHERE seq = ? AND id = ?", (self.number, self.task_id))


Change = outbox_rows.OutboxChange | ControlChange | Discard
"""A change of anything but a task."""


def insert(connection: sqlite3.Connection, task: Task, owner: int, lines: bytes) -> bool:
    """Add a task with its log; False if one that is not settled has its id. One that is settled makes room."""
    columns = index_columns(task, owner)
    values = (*columns, row_checksum(*columns))
    found = connection.execute(_INSERT, values)
    if not found.rowcount:
        connection.execute("DELETE FROM tasks WHERE id = ? AND ended_ms IS NOT NULL", (task.id,))
        found = connection.execute(_INSERT, values)
    if not found.rowcount:
        return False
    _add_chunk(connection, int(found.lastrowid or 0), 1, lines)
    return True


def append(connection: sqlite3.Connection, task_id: TaskId, owner: int, lines: bytes, *, is_late: bool = False) -> bool:
    """Add lines to the log of a task; False if `owner` does not work on it any more. Late ones go to a settled one."""
    found = connection.execute(_NEXT, (task_id, owner)).fetchone()
    if found is None and is_late:
        found = connection.execute(_LATE, (task_id,)).fetchone()
    if found is None:
        return False
    if lines:
        _add_chunk(connection, found[0], found[1], lines)
    return True


def _add_chunk(connection: sqlite3.Connection, seq: int, n: int, lines: bytes) -> None:
    values = (seq, n, lines, chunk_checksum(seq, n, lines))
    connection.execute("INSERT INTO events (task, n, lines, checksum) VALUES (?, ?, ?, ?)", values)


def update(connection: sqlite3.Connection, task: Task, owner: int, *, dead_owner: int | None = None) -> bool:
    """Bring the index up to date; False if the task does not belong to `dead_owner` (or `owner`) any more."""
    columns = index_columns(task, owner)
    whose = owner if dead_owner is None else dead_owner
    values = (owner, task.status, task.ended_ms, columns[-1], row_checksum(*columns), task.id, whose)
    return connection.execute(_UPDATE, values).rowcount == 1


def save_checkpoint(connection: sqlite3.Connection, task: Task, *, max_chars: int) -> bool:
    """Keep the newest conversation state; False if it is too long, and then there is none."""
    state = (task.activity.checkpoint or "").encode(errors="replace").decode()
    of_task = "(SELECT seq FROM tasks WHERE id = ?)"
    if len(state) > max_chars:
        connection.execute(f"DELETE FROM checkpoints WHERE task = {of_task}", (task.id,))  # noqa: S608  our own text
        return False
    connection.execute(
        f"INSERT OR REPLACE INTO checkpoints (task, state, checksum) VALUES ({of_task}, ?, ?)",  # noqa: S608  our own text
        (task.id, state, state_checksum(state)),
    )
    return True


def remove_old(
    connection: sqlite3.Connection, policy: RetentionPolicy, now_ms: int, leaving: Mapping[TaskId, str]
) -> tuple[list[TaskId], bool]:
    """Remove what leaves, or is too much, and hide what is past its time: of each some.

    Return what was removed or hidden, and True if that was all.
    """
    _make_room(connection, leaving, leaving.__getitem__, now_ms)
    expired = _expire(connection, policy, now_ms)
    recount(connection)
    over, room = max(0, count_shown(connection) - policy.max_entries), STEP - len(expired)
    oldest = [task_id for task_id, _ in ends(connection, min(over, room))]
    _make_room(connection, oldest, lambda _: evicted_reason(policy), now_ms)
    hidden, is_all_hidden = _remove_expired(connection, policy, now_ms)
    connection.execute(
        "DELETE FROM tombstones WHERE seq IN (SELECT seq FROM tombstones ORDER BY seq LIMIT ?)",
        (max(0, count(connection, "tombstones") - policy.max_reasons),),
    )
    has_room = room > 0 and (over <= room or len(oldest) < room)  # fewer have settled, or none is over
    return [*leaving, *oldest, *hidden, *expired], has_room and is_all_hidden


def bring_back(connection: sqlite3.Connection, now_ms: int) -> None:
    """Show again what was hidden by a clock that has been set back since."""
    back = connection.execute("SELECT id FROM tasks WHERE expired_ms > ?", (now_ms,)).fetchall()
    connection.executemany("UPDATE tasks SET expired_ms = NULL WHERE id = ?", back)
    connection.executemany("DELETE FROM tombstones WHERE id = ?", back)


def _expire(connection: sqlite3.Connection, policy: RetentionPolicy, now_ms: int) -> list[TaskId]:
    """Hide what is past its time."""
    found = connection.execute(
        f"SELECT {COLUMNS} FROM tasks WHERE ended_ms <= ? AND expired_ms IS NULL"  # noqa: S608  names of ours
        " ORDER BY ended_ms, seq LIMIT ?",
        (now_ms - policy.retention_ms, STEP),
    )
    past = [row.id for row in map(Row._make, found.fetchall()) if row.wrong is None]  # else its end is a guess
    connection.executemany("UPDATE tasks SET expired_ms = ? WHERE id = ?", [(now_ms, each) for each in past])
    _bury(connection, past, lambda _: expired_reason(policy))
    return past


def _remove_expired(connection: sqlite3.Connection, policy: RetentionPolicy, now_ms: int) -> tuple[list[TaskId], bool]:
    """Remove as much of what is hidden as there is no room for: nothing is removed because of what a clock says.

    What a consumer waits for has more room than the rest (`outbox_rows.held`). Return what was removed, and True if
    that was all.
    """
    over = min(count(connection, "tasks") - policy.max_entries, STEP)
    if over <= 0:
        return [], True
    found = connection.execute(
        f"SELECT id FROM tasks WHERE expired_ms <= ? AND NOT {outbox_rows.AWAITED}"  # noqa: S608  our own text
        " ORDER BY expired_ms, ended_ms, seq LIMIT ?",
        (now_ms, over),
    ).fetchall()
    connection.executemany("DELETE FROM tasks WHERE id = ?", found)
    over = min(count(connection, "tasks") - outbox_rows.held(policy.max_entries), STEP)
    missed = outbox_rows.remove_missed(connection, now_ms, over=max(0, over))
    return [*(task_id for (task_id,) in found), *missed], max(len(found), len(missed)) < STEP


def ends(connection: sqlite3.Connection, number: int, *, skipped: int = 0) -> list[tuple[TaskId, int]]:
    """Return so many settled tasks, the first to end first, with their ends; without so many that ended before."""
    return connection.execute(f"SELECT id, ended_ms {_OLDEST} OFFSET ?", (number, skipped)).fetchall()


def _make_room(
    connection: sqlite3.Connection, task_ids: Iterable[TaskId], why: Callable[[TaskId], str], now_ms: int
) -> None:
    """Remove tasks, or hide those for which a consumer waits, and remember why they are gone."""
    _bury(connection, task_ids, why)
    outbox_rows.remove_or_hide(connection, task_ids, now_ms)


def _bury(connection: sqlite3.Connection, task_ids: Iterable[TaskId], why: Callable[[TaskId], str]) -> None:
    """Remember why tasks are gone."""
    connection.executemany(  # REPLACE would not fire the trigger that counts
        "INSERT INTO tombstones (id, why) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET why = excluded.why",
        [(each, why(each)) for each in task_ids],
    )


def count(connection: sqlite3.Connection, what: str) -> int:
    """Return how many rows there are, without reading them."""
    return int(connection.execute("SELECT n FROM counts WHERE what = ?", (what,)).fetchone()[0])


def count_shown(connection: sqlite3.Connection) -> int:
    """Return how many tasks are not hidden, without reading them."""
    shown = "SELECT sum(CASE what WHEN 'tasks' THEN n WHEN 'expired' THEN -n ELSE 0 END) FROM counts"
    return int(connection.execute(shown).fetchone()[0])


def recount(connection: sqlite3.Connection) -> None:
    """Count by reading: a number that is damaged must not remove tasks."""
    connection.execute("UPDATE counts SET n = (SELECT count(*) FROM tasks) WHERE what = 'tasks'")
    connection.execute(
        "UPDATE counts SET n = (SELECT count(*) FROM tasks WHERE expired_ms IS NOT NULL) WHERE what = 'expired'"
    )


def mark(connection: sqlite3.Connection, name: str) -> None:
    """Record that something was done that is done once for a file."""
    connection.execute("INSERT OR IGNORE INTO meta VALUES (?, '')", (name,))
