"""Requests that outlive their process, in a store that writes in a thread of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from ohm_subagents._store.following import Followers
from ohm_subagents._store.writer_queue import Takeover

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ohm_subagents._store.recent import Recent
    from ohm_subagents._store.writer_queue import WriterQueue
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Task

Other = TypeVar("Other")


class Adoption(Generic[Other]):
    """Takes over tasks that wait for an answer: the attribute `requests` of a store.

    `owners_died` tells that others have ended and left unsettled tasks; it may be called from any thread.
    """

    look_s: float | None = None
    """The store is told of every process that ends (`Notifier.look_s`)."""

    def __init__(
        self,
        queue: WriterQueue[Other],
        recent: Recent,
        *,
        left: Callable[[TaskId], tuple[Task, int] | None],
        is_mine: Callable[[TaskId], bool],
        flush: Callable[[], Awaitable[None]],
    ) -> None:
        """`left` reads an unsettled task whose owner is dead, with the number of that owner; else it returns None.

        `is_mine` tells if it is stored that this store works on the task.
        """
        self._queue = queue
        self._recent = recent
        self._left = left
        self._is_mine = is_mine
        self._flush = flush
        followers = Followers()
        self.follow, self.owners_died = followers.follow, followers.wake

    async def adopt(self, read: Task, task: Task, events: tuple[Event, ...]) -> bool:
        """Take over a task whose process has died; return True only once that is stored (`KeptRequests.adopt`)."""
        left = self._left(task.id)
        if left is None or left[0].requests != read.requests:
            return False
        self._recent.keep(task)  # before anything waits: whoever else answers here reads that it is answered
        self._queue.put(Takeover(task=task, events=events, former=left[1], is_tried_once=True))
        await self._flush()
        if self._is_mine(task.id):
            return True
        self._recent.forget([task.id])
        return False
