"""Make room for new tasks: chosen with the write that needs the room, removed once nobody waits, many at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents._store import rows
from ohm_subagents._store.retention import evicted_why, expired_why
from ohm_subagents._store.schema import transaction

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Set as AbstractSet

    from ohm_subagents._store.retention import RetentionPolicy
    from ohm_subagents.contract.ids import TaskId

MANY: Final = 32
"""So many that leave are removed without waiting for the next heartbeat."""

Removed = dict["TaskId", tuple[int, ...]]


class Eviction:
    """The tasks that have left for everybody who asks this store, and those that are removed from the file.

    Changed in the thread of the writer; another thread reads `leaving`.
    """

    def __init__(self, connection: sqlite3.Connection, policy: RetentionPolicy) -> None:
        self.policy = policy
        self.leaving: dict[TaskId, str] = {}
        """Why each of them is gone, though its row may still be there."""
        self.is_overdue = True
        """Whether the file may hold more than the policy allows: at the beginning, and after a change of the policy."""
        self._connection = connection
        self._has_failed = False

    @property
    def is_due(self) -> bool:
        """Whether it is worth a transaction now; after a failure the next heartbeat is soon enough."""
        return not self._has_failed and (self.is_overdue or len(self.leaving) >= min(MANY, self.policy.max_reasons + 1))

    @property
    def is_urgent(self) -> bool:
        """Whether more leave than may be remembered, so that somebody who asks would be told too much."""
        return len(self.leaving) > self.policy.max_reasons

    def after(self, created: AbstractSet[TaskId], now_ms: int) -> dict[TaskId, str]:
        """What leaves once these have come in, perhaps under an old id; only within the transaction that adds them."""
        leaving = self.leaving
        if self.is_overdue or not created:
            return leaving
        if leaving and not leaving.keys().isdisjoint(created):
            leaving = {task_id: why for task_id, why in leaving.items() if task_id not in created}
        over = self._kept() - len(leaving) - self.policy.max_entries
        if over > len(created):  # more than they can have brought
            rows.recount(self._connection)
            over = self._kept() - len(leaving) - self.policy.max_entries
        if over <= 0:
            return leaving
        oldest = [each for each in rows.ends(self._connection, over + len(leaving)) if each[0] not in leaving]
        return {**leaving, **{task_id: self._why(now_ms - ended_ms) for task_id, ended_ms in oldest[:over]}}

    def _why(self, age_ms: int) -> str:
        return expired_why(self.policy) if age_ms >= self.policy.retention_ms else evicted_why(self.policy)

    def _kept(self) -> int:
        return rows.count(self._connection, "tasks") - rows.count(self._connection, "expired")

    def remove(self, now_ms: int) -> tuple[Removed, list[TaskId]]:
        """Remove what leaves and what is too much, with the numbers of their outputs, and hide what is past its time.

        Raises sqlite3.Error, and then nothing is removed.
        """
        self._has_failed = True
        with transaction(self._connection):
            if self.is_overdue:  # else nobody has just looked at the clock
                rows.bring_back(self._connection, now_ms)
            removed, hidden, is_all = rows.remove_old(self._connection, self.policy, now_ms, self.leaving)
        self._has_failed = False
        self.leaving, self.is_overdue = {}, not is_all
        return removed, hidden
