"""An outbox in memory: gone with the process, unless its store writes down what `state` returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from ohm_subagents._plugins.outbox import HELD_TIMES, MOST_CONSUMERS, Consumer, OutboxEntry
from ohm_subagents._store.following import Followers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ohm_subagents.contract.task import Task


@dataclass(slots=True, kw_only=True)
class Position:
    """The place of one consumer in the outbox."""

    consumer: Consumer
    """The consumer."""
    sequence: int
    """Everything up to here is acknowledged."""
    acknowledged: set[int] = field(default_factory=set[int])
    """Entries beyond that are acknowledged, too."""
    missed: int = 0
    """Entries that have made room before it came."""

    def awaits(self, sequence: int, task: Task) -> bool:
        """Return True for an entry that is still to be acknowledged."""
        return sequence > self.sequence and sequence not in self.acknowledged and self.consumer.wants(task)


class MemoryOutbox:
    """The newest settled tasks, by their sequence. `room` tells how many are kept that nobody waits for.

    `changed` is called when there is something new to write down.
    """

    look_s = None

    def __init__(self, room: Callable[[], int], *, changed: Callable[[], None] = lambda: None) -> None:
        self._room = room
        self._changed = changed
        self._head = 0
        self._opened_at = 0
        self._entries: dict[int, Task] = {}
        self._positions: dict[str, Position] = {}
        self._followers = Followers()
        self.follow = self._followers.follow

    # Writing

    def add(self, task: Task) -> None:
        """Add a task that has just settled."""
        self._head += 1
        self._entries[self._head] = task
        excess = len(self._entries) - (self._room() or 1)
        while excess > 0 and self._drop_oldest():
            excess -= 1
        self._followers.wake()

    def _drop_oldest(self) -> bool:
        sequence = next(iter(self._entries))
        if not self._positions:
            del self._entries[sequence]
            return True
        task = self._entries[sequence]
        waiting = [each for each in self._positions.values() if each.awaits(sequence, task)]
        if waiting and len(self._entries) <= max(1, self._room()) * HELD_TIMES:
            return False
        del self._entries[sequence]
        for each in waiting:
            each.missed += 1
        return True

    def register(self, consumer: Consumer) -> int:
        known = self._positions.pop(consumer.name, None) or Position(consumer=consumer, sequence=self._opened_at)
        missed, known.missed, known.consumer = known.missed, 0, consumer
        self._positions[consumer.name] = known
        if len(self._positions) > MOST_CONSUMERS:
            del self._positions[next(iter(self._positions))]
        self._changed()
        return missed

    def forget(self, name: str) -> None:
        self._positions.pop(name, None)
        self._changed()

    def acknowledge(self, name: str, sequence: int) -> None:
        known = self._positions.get(name)
        if known is None:
            return
        known.acknowledged.add(sequence)
        for each, task in self._entries.items():
            if known.awaits(each, task):
                break
            known.sequence = max(known.sequence, each)
        known.acknowledged = {each for each in known.acknowledged if each > known.sequence}
        self._changed()

    def restore(self, head: int, entries: Iterable[OutboxEntry], positions: Iterable[Position]) -> None:
        """Take in what `state` returned in an earlier process."""
        self._head = self._opened_at = head
        self._entries = {each.sequence: each.task for each in entries}
        self._positions = {each.consumer.name: each for each in positions}

    # Reading

    def pending(self, consumer: Consumer, *, after: int, limit: int) -> tuple[OutboxEntry, ...]:
        known = self._positions.get(consumer.name) or Position(consumer=consumer, sequence=self._opened_at)
        awaited = (
            OutboxEntry(sequence=sequence, task=task)
            for sequence, task in self._entries.items()
            if sequence > after and known.awaits(sequence, task)
        )
        return tuple(islice(awaited, limit))

    def state(self) -> tuple[int, tuple[OutboxEntry, ...], tuple[Position, ...]]:
        """Return the newest sequence, the entries that a consumer waits for, and the consumers; from any thread."""
        positions = tuple(self._positions.values())
        awaited = (
            OutboxEntry(sequence=sequence, task=task)
            for sequence, task in tuple(self._entries.items())
            if any(each.awaits(sequence, task) for each in positions)
        )
        return self._head, tuple(awaited), positions
