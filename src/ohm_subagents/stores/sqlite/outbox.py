"""The outbox: the tasks that settled, in that order, as consumers read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.contract.result import Ok
from ohm_subagents.store import OutboxEntry
from ohm_subagents.stores.sqlite.outbox_rows import HEAD, Acknowledged, Forgotten, Registered
from ohm_subagents.stores.sqlite.stored import COLUMNS, Row

if TYPE_CHECKING:
    from ohm_subagents.store import Consumer, Recent, WriterQueue
    from ohm_subagents.stores.sqlite.loader import Loader
    from ohm_subagents.stores.sqlite.reader import Reader
    from ohm_subagents.stores.sqlite.rows import Change
    from ohm_subagents.stores.sqlite.wakers import Waker


class SqliteOutbox:
    """Reads in the caller's thread; what changes goes through the queue of the writer.

    `opened_at` is the newest sequence when the store was opened: where a new consumer begins.
    """

    def __init__(
        self, reader: Reader, loader: Loader, recent: Recent, queue: WriterQueue[Change], waker: Waker
    ) -> None:
        self._reader = reader
        self._loader = loader
        self._recent = recent
        self._queue = queue
        self._opened_at = 0
        self._waker = waker
        self.follow = waker.follow

    @property
    def look_s(self) -> float | None:
        return self._waker.look_s

    def begin(self) -> None:
        """Note where new consumers begin."""
        found = self._reader.found(f"SELECT {HEAD}")
        self._opened_at = found[0][0] if found else 0

    def register(self, consumer: Consumer) -> int:
        found = self._reader.found("SELECT missed FROM consumers WHERE name = ?", consumer.name)
        self._queue.put(Registered(consumer=consumer, position=self._opened_at))
        return int(found[0][0]) if found else 0

    def forget(self, name: str) -> None:
        self._queue.put(Forgotten(name=name))

    def acknowledge(self, name: str, sequence: int) -> None:
        self._queue.put(Acknowledged(name=name, sequence=sequence))

    def pending(self, consumer: Consumer, *, after: int, limit: int) -> tuple[OutboxEntry, ...]:
        entries: list[OutboxEntry] = []
        while len(entries) < limit:
            wanted = limit - len(entries)
            rows = self._rows(consumer, after, wanted)
            for n, *columns in rows:
                after, row = n, Row._make(columns)
                known = self._recent.get(row.id)
                loaded = self._loader.task(row) if known is None or not known.is_terminal else Ok(known)
                if isinstance(loaded, Ok):  # else it is damaged, and there is a note that says so
                    entries.append(OutboxEntry(sequence=n, task=loaded.ok_value))
            if len(rows) < wanted:
                break
        return tuple(entries)

    def _rows(self, consumer: Consumer, after: int, limit: int) -> list[tuple[int, *tuple[object, ...]]]:
        found = self._reader.found(
            f"SELECT outbox.n, {COLUMNS} FROM outbox JOIN tasks ON tasks.seq = outbox.task"  # noqa: S608  names of ours
            " WHERE outbox.n > max(?1, ifnull((SELECT position FROM consumers WHERE name = ?2), ?3))"
            " AND (?4 IS NULL OR session_id = ?4) AND (?5 IS NULL OR substr(ifnull(call, ''), 1, length(?5)) = ?5)"
            " AND NOT EXISTS (SELECT 1 FROM acknowledged AS done WHERE done.consumer = ?2 AND done.n = outbox.n)"
            " ORDER BY outbox.n LIMIT ?6",
            after,
            consumer.name,
            self._opened_at,
            consumer.session,
            consumer.calls,
            limit,
        )
        return found or []
