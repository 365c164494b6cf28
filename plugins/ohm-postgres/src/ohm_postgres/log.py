"""The logs of tasks, read on from where the last reading has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ohm_postgres.stored import to_text
from ohm_subagents.store import Followers, history_of_log

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ohm_postgres.reader import Reader
    from ohm_subagents.contract import TaskId
    from ohm_subagents.store import Recorded

LOOK_S: Final = 0.25
"""The interval at which a follower looks: to tell each event would cost every commit of every process."""
_AFTER: Final = (
    "SELECT e.n, e.lines FROM ohm_events e JOIN ohm_tasks t ON t.seq = e.task WHERE t.id = %s AND e.n > %s ORDER BY e.n"
)
_NEWEST: Final = (
    "SELECT t.id, (SELECT coalesce(max(n), 0) FROM ohm_events WHERE task = t.seq) FROM ohm_tasks t WHERE t.id = ANY(%s)"
)


class PostgresLog:
    """Reads in a thread (`TaskLog`); a position is the number of a row."""

    look_s: float | None = LOOK_S

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.follow = Followers().follow

    def newest(self, task_ids: Collection[TaskId]) -> Mapping[TaskId, int]:
        names = {to_text(task_id): task_id for task_id in task_ids}
        return {names[name]: end for name, end in self._reader.found(_NEWEST, ([*names],)) or ()}

    async def after(self, task_id: TaskId, position: int) -> tuple[tuple[Recorded, ...], int]:
        return await to_thread.run_sync(self._after, task_id, position)

    def _after(self, task_id: TaskId, position: int) -> tuple[tuple[Recorded, ...], int]:
        found = self._reader.found(_AFTER, (to_text(task_id), position)) or []
        return history_of_log(b"".join(lines for _, lines in found)), found[-1][0] if found else position
