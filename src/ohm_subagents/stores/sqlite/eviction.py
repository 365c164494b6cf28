"""Tasks without room are removed, many at a time: behind the flushes of a batch, which do not wait for it.

Before them only where a flush has to see it: a change of the policy, and more tasks than reasons may be remembered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents.store import evicted_reason, expired_reason
from ohm_subagents.stores.sqlite import rows
from ohm_subagents.stores.sqlite.schema import transaction

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Set as AbstractSet

    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.store import RetentionPolicy

MANY: Final = 32
"""So many tasks that leave are removed without waiting for the next heartbeat."""


class Eviction:
    """Chooses what makes room with the write that needs the room, and removes it later.

    Changed in the thread of the writer; another thread reads `leaving`. A reader removes nothing.
    """

    def __init__(self, connection: sqlite3.Connection, policy: RetentionPolicy, *, is_reader: bool) -> None:
        self.policy = policy
        self.leaving: dict[TaskId, str] = {}
        """The reason for each task that is removed already for a reader, though its row may still be there."""
        self.is_overdue = not is_reader
        """The file may hold more than the policy allows: at the beginning, and after a change of the policy."""
        self._connection = connection
        self._is_reader = is_reader
        self._has_failed = False

    @property
    def is_due(self) -> bool:
        """True if it is worth a transaction now; after a failure the next heartbeat is soon enough."""
        return not self._has_failed and (self.is_overdue or len(self.leaving) >= min(MANY, self.policy.max_reasons + 1))

    @property
    def is_urgent(self) -> bool:
        """True if more tasks leave than reasons may be remembered."""
        return len(self.leaving) > self.policy.max_reasons

    def after(self, created: AbstractSet[TaskId], now_ms: int) -> dict[TaskId, str]:
        """Choose what leaves once these have come in, perhaps under an old id; in the transaction that adds them."""
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
        oldest = self._oldest(over, leaving.keys())
        return {**leaving, **{task_id: self._why(now_ms - ended_ms) for task_id, ended_ms in oldest}}

    def _oldest(self, number: int, leaving: AbstractSet[TaskId]) -> list[tuple[TaskId, int]]:
        """Return so many settled tasks that do not leave yet, the first to end first."""
        if leaving:  # these have ended first, unless another process has removed some, or ended one before them
            found = rows.ends(self._connection, number + 1, skipped=len(leaving) - 1)
            if [task_id in leaving for task_id, _ in found] == [True, *[False] * number]:
                return found[1:]
        found = rows.ends(self._connection, number + len(leaving))
        return [each for each in found if each[0] not in leaving][:number]

    def _why(self, age_ms: int) -> str:
        return expired_reason(self.policy) if age_ms >= self.policy.retention_ms else evicted_reason(self.policy)

    def _kept(self) -> int:
        return rows.count_shown(self._connection)

    def remove(self, now_ms: int) -> list[TaskId]:
        """Remove what leaves and what is too much, hide what is past its time, and return all of that.

        Raises sqlite3.Error, and then nothing is removed.
        """
        if self._is_reader:
            return []
        self._has_failed = True
        with transaction(self._connection):
            if self.is_overdue:  # the time has just been read
                rows.bring_back(self._connection, now_ms)
            removed, is_all = rows.remove_old(self._connection, self.policy, now_ms, self.leaving)
        self._has_failed = False
        self.leaving, self.is_overdue = {}, not is_all
        return removed
