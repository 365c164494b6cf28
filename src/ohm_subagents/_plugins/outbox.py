"""The contract of an outbox: the settled tasks of a store, in the order in which they settled, for named consumers."""

from __future__ import annotations

from typing import Final, Protocol

from ohm_subagents._plugins.stores import Notifier
from ohm_subagents._records import dataclass
from ohm_subagents.contract.ids import SessionId
from ohm_subagents.contract.task import Task

MOST_CONSUMERS: Final = 100
"""So many consumers are known; beyond that the one that has not come for longest is forgotten."""
HELD_TIMES: Final = 10
"""So many times `RetentionPolicy.max_entries` are held for consumers that do not come; then the oldest is missed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """A named reader of settled tasks: of all, or of those of one session."""

    name: str
    """The name under which its position is kept."""
    session: SessionId | None = None
    """Only tasks of this session; None for all."""
    calls: str | None = None
    """Only tasks of program's calls whose id begins with it (`Ohm.begin`); None for all."""

    def wants(self, task: Task) -> bool:
        """Return True for a task that the consumer is to know of."""
        is_of_session = self.session in {None, task.session_id}
        return is_of_session and (self.calls is None or (task.assignment.call or "").startswith(self.calls))


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxEntry:
    """A task that has settled."""

    sequence: int
    """Its number in the outbox, higher than that of each task that settled before."""
    task: Task
    """The task as it settled."""


class Outbox(Notifier, Protocol):
    """The outbox of a store, its attribute `outbox`: a row for each task that settles, written with what settles it.

    A row goes with its task, once no consumer waits for it. For those that do, what made room for others is held, up to
    `HELD_TIMES` the number of tasks that are kept; after that the oldest goes, and the consumer has missed one.
    Its news is that a task of any process has settled, or asks.
    """

    def register(self, consumer: Consumer) -> int:
        """Know a consumer from now on; return how many tasks it has missed since it last came.

        A new one begins with what has settled since this store was opened, another where it had stopped.
        """
        ...

    def forget(self, name: str) -> None:
        """Know a consumer no more."""
        ...

    def pending(self, consumer: Consumer, *, after: int, limit: int) -> tuple[OutboxEntry, ...]:
        """Return what a consumer has not acknowledged, in order: at most `limit`, with sequences above `after`.

        What is returned is safe: it would survive the death of this process as well as the store itself does.
        """
        ...

    def acknowledge(self, name: str, sequence: int) -> None:
        """Never return this entry to the consumer again; safe with the next `Store.flush`."""
        ...
