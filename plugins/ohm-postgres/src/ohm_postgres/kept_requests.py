"""Requests that outlive their process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.store import Err, Followers, Takeover

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ohm_postgres.reader import Reader
    from ohm_postgres.rows import Change
    from ohm_subagents.store import Event, Recent, Task, WriterQueue


class PostgresRequests:
    """Takes over tasks that wait for an answer (`KeptRequests`).

    `owners_died` tells that others have ended and left unsettled tasks; it is called in the thread of the writer.
    """

    look_s: float | None = None

    def __init__(
        self, reader: Reader, queue: WriterQueue[Change], recent: Recent, *, flush: Callable[[], Awaitable[None]]
    ) -> None:
        self._reader = reader
        self._queue = queue
        self._recent = recent
        self._flush = flush
        followers = Followers()
        self.follow, self.owners_died = followers.follow, followers.wake

    async def adopt(self, read: Task, task: Task, events: tuple[Event, ...]) -> bool:
        row = self._reader.task(task.id)
        if row is None or row.ended_ms is not None or self._reader.is_live(row):
            return False
        folded = row.task()
        if isinstance(folded, Err) or folded.ok_value.requests != read.requests:
            return False
        self._recent.keep(task)  # before anything waits: whoever else answers here reads that it is answered
        self._queue.put(Takeover(task=task, events=events, former=row.owner, is_tried_once=True))
        await self._flush()
        if self._reader.is_mine(task.id):
            return True
        self._recent.forget([task.id])
        return False
