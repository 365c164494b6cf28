"""Requests that outlive their process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.contract.result import Err
from ohm_subagents.store import Followers, Takeover

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.task import Task
    from ohm_subagents.store import Recent, WriterQueue
    from ohm_subagents.stores.sqlite.owners import Neighbours
    from ohm_subagents.stores.sqlite.reader import Reader
    from ohm_subagents.stores.sqlite.rows import Change


class SqliteRequests:
    """Takes over tasks that wait for an answer (`KeptRequests`).

    `owners_died` tells that others have ended and left unsettled tasks; it is called in the thread of the writer.
    """

    look_s: float | None = None

    def __init__(
        self,
        reader: Reader,
        neighbours: Neighbours,
        queue: WriterQueue[Change],
        recent: Recent,
        *,
        flush: Callable[[], Awaitable[None]],
    ) -> None:
        self._reader = reader
        self._neighbours = neighbours
        self._queue = queue
        self._recent = recent
        self._flush = flush
        followers = Followers()
        self.follow, self.owners_died = followers.follow, followers.wake

    async def adopt(self, read: Task, task: Task, events: tuple[Event, ...]) -> bool:
        stored = self._reader.task(task.id)
        if stored is None or self._neighbours.is_at_work(stored.row.owner):
            return False
        folded = stored.task()
        if isinstance(folded, Err) or folded.ok_value.requests != read.requests:
            return False
        self._recent.keep(task)  # before anything waits: whoever else answers here reads that it is answered
        self._queue.put(Takeover(task=task, events=events, former=stored.row.owner, is_tried_once=True))
        await self._flush()
        if self._neighbours.is_mine(task.id):
            return True
        self._recent.forget([task.id])
        return False
