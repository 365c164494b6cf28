"""Changes of the outbox: a row for each task that settles, the consumers, their positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ohm_postgres.stored import or_none, to_text
from ohm_subagents.store import MOST_CONSUMERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg import Connection

    from ohm_subagents.store import Consumer

CHANNEL: Final = "ohm_settled"
"""Whoever listens to it is told that a task has settled."""
_WANTED: Final = (
    "(c.session IS NULL OR c.session = t.session_id)"
    " AND (c.calls IS NULL OR starts_with(coalesce(t.call, ''), c.calls))"
    " AND b.n > c.position"
    " AND NOT EXISTS (SELECT 1 FROM ohm_acknowledged d WHERE d.consumer = c.name AND d.n = b.n)"
)
_ENTRIES: Final = "ohm_outbox b JOIN ohm_tasks t ON t.seq = b.task"
AWAITED: Final = f"EXISTS (SELECT 1 FROM ohm_outbox b, ohm_consumers c WHERE b.task = t.seq AND {_WANTED})"
"""The condition of a task `t` for which a consumer waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A consumer has come; `position` is where it begins if it is new."""

    consumer: Consumer
    position: int

    def write(self, connection: Connection) -> None:
        """Add the consumer, or bring it up to date; forget the one that has not come for longest."""
        one = self.consumer
        connection.execute(
            "INSERT INTO ohm_consumers (name, session, calls, position, missed, came)"
            " VALUES (%s, %s, %s, %s, 0, (SELECT coalesce(max(came), 0) + 1 FROM ohm_consumers)) ON CONFLICT (name)"
            " DO UPDATE SET session = excluded.session, calls = excluded.calls, missed = 0, came = excluded.came",
            (to_text(one.name), or_none(one.session), or_none(one.calls), self.position),
        )
        late = "SELECT name FROM ohm_consumers ORDER BY came DESC OFFSET %s"
        connection.execute(f"DELETE FROM ohm_consumers WHERE name IN ({late})".encode(), (MOST_CONSUMERS,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """A consumer that does not come any more."""

    name: str

    def write(self, connection: Connection) -> None:
        """Remove the consumer, and with it what it has acknowledged."""
        connection.execute("DELETE FROM ohm_consumers WHERE name = %s", (to_text(self.name),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """A consumer has acknowledged an entry."""

    name: str
    sequence: int

    def write(self, connection: Connection) -> None:
        """Move the position up to the first entry that is still awaited."""
        name = to_text(self.name)
        connection.execute(
            "INSERT INTO ohm_acknowledged SELECT name, %s FROM ohm_consumers WHERE name = %s AND position < %s"
            " ON CONFLICT DO NOTHING",
            (self.sequence, name, self.sequence),
        )
        first = f"SELECT b.n - 1 FROM {_ENTRIES} WHERE {_WANTED} ORDER BY b.n LIMIT 1"
        connection.execute(
            f"UPDATE ohm_consumers c SET position = coalesce(({first}), (SELECT n FROM ohm_head))"
            " WHERE name = %s".encode(),
            (name,),
        )
        connection.execute(
            "DELETE FROM ohm_acknowledged d USING ohm_consumers c"
            " WHERE c.name = %s AND d.consumer = c.name AND d.n <= c.position",
            (name,),
        )


OutboxChange = Registered | Forgotten | Acknowledged


def settle(connection: Connection, seqs: Sequence[int]) -> None:
    """Add tasks that have settled, and tell whoever listens; late in the transaction that settles them.

    From here to its end no other transaction gets a number: they are seen in the order in which they were given.
    """
    if not seqs:
        return
    found: Any = connection.execute("UPDATE ohm_head SET n = n + %s RETURNING n", (len(seqs),)).fetchone()
    numbers = [*range(found[0] - len(seqs) + 1, found[0] + 1)]
    connection.execute(
        "INSERT INTO ohm_outbox SELECT * FROM unnest(%s::bigint[], %s::bigint[]) ON CONFLICT (task) DO NOTHING",
        (numbers, [*seqs]),
    )
    tell(connection)


def tell(connection: Connection) -> None:
    """Wake whoever waits for tasks, once the transaction has ended."""
    connection.execute(f"NOTIFY {CHANNEL}".encode())


def miss(connection: Connection, seq: int) -> None:
    """Count a task that is removed for those who waited for it."""
    missed = f"SELECT 1 FROM {_ENTRIES} WHERE t.seq = %s AND {_WANTED}"
    connection.execute(f"UPDATE ohm_consumers c SET missed = missed + 1 WHERE EXISTS ({missed})".encode(), (seq,))
