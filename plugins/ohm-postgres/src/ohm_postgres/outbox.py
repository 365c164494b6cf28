"""The outbox: the tasks that settled, in that order, as consumers read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_postgres.outbox_rows import CHANNEL, Acknowledged, Forgotten, Registered
from ohm_postgres.stored import ENTRIES, Row, or_none, to_text
from ohm_subagents.store import Followers, Ok, OutboxEntry

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_postgres.listener import Listener
    from ohm_postgres.reader import Loader, Reader
    from ohm_postgres.rows import Change
    from ohm_subagents.store import Consumer, WriterQueue

_PENDING: Final = (
    " WHERE b.n > greatest(%s::bigint, coalesce((SELECT position FROM ohm_consumers WHERE name = %s), %s))"
    " AND (%s::text IS NULL OR t.session_id = %s) AND (%s::text IS NULL OR starts_with(coalesce(t.call, ''), %s))"
    " AND NOT EXISTS (SELECT 1 FROM ohm_acknowledged d WHERE d.consumer = %s AND d.n = b.n)"
    " ORDER BY b.n LIMIT %s"
)


class PostgresOutbox:
    """Reads in the caller's thread; what changes goes through the queue of the writer. The database tells what is new.

    `recover` fails the tasks of owners that have died: they are news too.
    """

    look_s: float | None = None

    def __init__(
        self,
        reader: Reader,
        loader: Loader,
        queue: WriterQueue[Change],
        listener: Listener,
        *,
        recover: Callable[[], None],
    ) -> None:
        self._reader = reader
        self._loader = loader
        self._queue = queue
        self._recover = recover
        self._opened_at = 0
        self._are_owners_dead = False
        self._followers = Followers(on_first=listener.start)
        self.follow, self.wake = self._followers.follow, self._followers.wake
        listener.on(CHANNEL, self.wake)

    def begin(self) -> None:
        """Note where new consumers begin."""
        found = self._reader.found("SELECT n FROM ohm_head")
        self._opened_at = found[0][0] if found else 0

    def owners_died(self) -> None:
        """Have the tasks of dead owners failed at the next look; from any thread."""
        self._are_owners_dead = True
        self.wake()

    def register(self, consumer: Consumer) -> int:
        name = to_text(consumer.name)
        found = self._reader.found("SELECT missed FROM ohm_consumers WHERE name = %s", (name,))
        self._queue.put(Registered(consumer=consumer, position=self._opened_at))
        return int(found[0][0]) if found else 0

    def forget(self, name: str) -> None:
        self._queue.put(Forgotten(name=name))

    def acknowledge(self, name: str, sequence: int) -> None:
        self._queue.put(Acknowledged(name=name, sequence=sequence))

    def pending(self, consumer: Consumer, *, after: int, limit: int) -> tuple[OutboxEntry, ...]:
        if self._are_owners_dead:
            self._are_owners_dead = False
            self._recover()
        name, session, calls = to_text(consumer.name), or_none(consumer.session), or_none(consumer.calls)
        entries: list[OutboxEntry] = []
        while (wanted := limit - len(entries)) > 0:
            values = (after, name, self._opened_at, session, session, calls, calls, name, wanted)
            found = self._reader.found(f"{ENTRIES}{_PENDING}", values) or []
            numbers = {columns[1]: columns[0] for columns in found}
            for row, task in self._loader.tasks(Row.of(columns[1:]) for columns in found):
                if isinstance(task, Ok):
                    entries.append(OutboxEntry(sequence=numbers[row.seq], task=task.ok_value))
            if len(found) < wanted:
                break
            after = found[-1][0]
        return tuple(entries)
