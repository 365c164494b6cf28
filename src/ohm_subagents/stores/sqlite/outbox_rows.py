"""Changes of the outbox, a statement or two each: a row for each task that settles, the consumers, their positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_subagents.store import HELD_TIMES, MOST_CONSUMERS

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Task
    from ohm_subagents.store import Consumer

_WANTED: Final = (
    "(consumers.session IS NULL OR consumers.session = tasks.session_id)"
    " AND (calls IS NULL OR substr(ifnull(call, ''), 1, length(calls)) = calls)"
    " AND outbox.n > position"
    " AND NOT EXISTS (SELECT 1 FROM acknowledged AS done WHERE done.consumer = name AND done.n = outbox.n)"
)
AWAITED: Final = f"EXISTS (SELECT 1 FROM outbox, consumers WHERE outbox.task = tasks.seq AND {_WANTED})"  # noqa: S608  our own text
"""The condition of a task for which a consumer waits."""
_AT_ONCE: Final = 500
"""Ids in one statement: SQLite takes a limited number of values, an old one 999."""
HEAD: Final = "(SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'outbox')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A consumer has come; `position` is where it begins if it is new."""

    consumer: Consumer
    position: int

    def write(self, connection: sqlite3.Connection) -> None:
        """Add the consumer, or bring it up to date; forget the one that has not come for longest."""
        consumer = self.consumer
        connection.execute(
            "INSERT INTO consumers (name, session, calls, position, missed, came)"
            " VALUES (?, ?, ?, ?, 0, (SELECT ifnull(max(came), 0) + 1 FROM consumers)) ON CONFLICT (name) DO UPDATE"
            " SET session = excluded.session, calls = excluded.calls, missed = 0, came = excluded.came",
            (consumer.name, consumer.session, consumer.calls, self.position),
        )
        late = "SELECT name FROM consumers ORDER BY came DESC LIMIT -1 OFFSET ?"
        for (name,) in connection.execute(late, (MOST_CONSUMERS,)).fetchall():
            Forgotten(name=name).write(connection)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """A consumer that does not come any more."""

    name: str

    def write(self, connection: sqlite3.Connection) -> None:
        """Remove the consumer, and with it what it has acknowledged."""
        connection.execute("DELETE FROM consumers WHERE name = ?", (self.name,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """A consumer has acknowledged an entry."""

    name: str
    sequence: int

    def write(self, connection: sqlite3.Connection) -> None:
        """Move the position up to the first entry that is still awaited."""
        connection.execute(
            "INSERT OR IGNORE INTO acknowledged SELECT name, ? FROM consumers WHERE name = ? AND position < ?",
            (self.sequence, self.name, self.sequence),
        )
        first = (
            f"SELECT outbox.n - 1 FROM outbox JOIN tasks ON tasks.seq = outbox.task WHERE {_WANTED}"  # noqa: S608  our own
            " ORDER BY outbox.n LIMIT 1"
        )
        connection.execute(f"UPDATE consumers SET position = ifnull(({first}), {HEAD}) WHERE name = ?", (self.name,))  # noqa: S608  as above
        connection.execute(
            "DELETE FROM acknowledged WHERE consumer = ?1 AND n <= (SELECT position FROM consumers WHERE name = ?1)",
            (self.name,),
        )


OutboxChange = Registered | Forgotten | Acknowledged


def settle(connection: sqlite3.Connection, task: Task) -> None:
    """Add a task that has settled; in the transaction that settles it."""
    connection.execute(
        "INSERT OR IGNORE INTO outbox (task, call) SELECT seq, ? FROM tasks WHERE id = ?",
        (task.assignment.call, task.id),
    )


def remove_or_hide(connection: sqlite3.Connection, task_ids: Iterable[TaskId], now_ms: int) -> None:
    """Remove tasks; those for which a consumer waits are hidden instead.

    Of many in one statement: each keeps a copy of what it changes, until it is certain that it does not fail.
    """
    every = (*task_ids,)
    for ids in (every[start : start + _AT_ONCE] for start in range(0, len(every), _AT_ONCE)):
        these = f"id IN ({', '.join('?' * len(ids))})"
        hide = f"UPDATE tasks SET expired_ms = ? WHERE {these} AND expired_ms IS NULL AND {AWAITED}"  # noqa: S608  our own text
        connection.execute(hide, (now_ms, *ids))
        connection.execute(f"DELETE FROM tasks WHERE {these} AND NOT {AWAITED}", ids)  # noqa: S608  as above


def remove_missed(connection: sqlite3.Connection, now_ms: int, *, over: int) -> list[TaskId]:
    """Remove so many hidden tasks, the oldest, whether consumers wait for them or not; these have missed them."""
    found = connection.execute(
        "SELECT id, seq FROM tasks WHERE expired_ms <= ? ORDER BY expired_ms, ended_ms, seq LIMIT ?", (now_ms, over)
    ).fetchall()
    missed = f"SELECT 1 FROM outbox JOIN tasks ON tasks.seq = outbox.task WHERE tasks.seq = ? AND {_WANTED}"  # noqa: S608  as above
    for task_id, seq in found:
        connection.execute(f"UPDATE consumers SET missed = missed + 1 WHERE EXISTS ({missed})", (seq,))  # noqa: S608  as above
        connection.execute("DELETE FROM tasks WHERE id = ?", (task_id,))
    return [task_id for task_id, _ in found]


def mend(connection: sqlite3.Connection) -> None:
    """Let no consumer be beyond the newest entry, after a part of the outbox was lost."""
    connection.execute(f"UPDATE consumers SET position = {HEAD} WHERE position > {HEAD}")  # noqa: S608  as above
    connection.execute(f"DELETE FROM acknowledged WHERE n > {HEAD}")  # noqa: S608  as above


def held(max_entries: int) -> int:
    """Return how many tasks may be in the file with those that are held for consumers."""
    return max(1, max_entries) * (1 + HELD_TIMES)
