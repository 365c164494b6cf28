"""The logs of tasks, read on from where the last reading has ended."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ohm_subagents.store import history_of_log

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from ohm_subagents.contract.events import Recorded
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.stores.sqlite.reader import Reader
    from ohm_subagents.stores.sqlite.wakers import Waker

_AFTER: Final = (
    "SELECT n, lines FROM events JOIN tasks ON tasks.seq = events.task WHERE tasks.id = ? AND n > ? ORDER BY n"
)
_NEWEST: Final = (
    "SELECT id, (SELECT ifnull(max(n), 0) FROM events WHERE task = seq)"
    " FROM tasks WHERE id IN (SELECT value FROM json_each(?))"
)


class SqliteLog:
    """Reads in a thread, by `thread_reader` (`TaskLog`); a position is the number of a chunk."""

    def __init__(self, reader: Reader, thread_reader: Reader, waker: Waker) -> None:
        self._reader = reader
        self._thread_reader = thread_reader
        self._waker = waker
        self.follow = waker.follow

    @property
    def look_s(self) -> float | None:
        return self._waker.look_s

    def newest(self, task_ids: Collection[TaskId]) -> Mapping[TaskId, int]:
        return dict(self._reader.found(_NEWEST, json.dumps([*task_ids])) or ())

    async def after(self, task_id: TaskId, position: int) -> tuple[tuple[Recorded, ...], int]:
        return await to_thread.run_sync(self._after, task_id, position)

    def _after(self, task_id: TaskId, position: int) -> tuple[tuple[Recorded, ...], int]:
        found = self._thread_reader.found(_AFTER, task_id, position) or []
        return history_of_log(b"".join(lines for _, lines in found)), found[-1][0] if found else position
