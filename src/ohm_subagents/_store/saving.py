"""The half of a store that saves: in memory at once, and in a thread of its own soon after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import anyio

from ohm_subagents._concurrency.event_loop import callers
from ohm_subagents._store.recovery import may_go_on, recovered, recovery_note
from ohm_subagents._store.writer_queue import Takeover

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ohm_subagents._store.notes import Notes
    from ohm_subagents._store.recent import Recent
    from ohm_subagents._store.writer_queue import WriterQueue
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.contract.task import Task

Other = TypeVar("Other")


class Saving(Generic[Other]):
    """Saves tasks for a store, whose `save`, `save_all` and `flush` are those of this."""

    def __init__(
        self,
        queue: WriterQueue[Other],
        recent: Recent,
        notes: Notes,
        *,
        clock: Clock,
        written_count: Callable[[], int],
    ) -> None:
        """`written_count` gives the number of entries of the queue that are written."""
        self._queue = queue
        self._recent = recent
        self._notes = notes
        self._clock = clock
        self._written_count = written_count
        self._flushed: anyio.Event | None = None
        """Set when all is written up to the end of this turn of the event loop; None while nobody waits for that."""

    def save(self, task: Task, event: Event) -> None:
        """Keep an event (`Store.save`)."""
        self._recent.keep(task)
        self._queue.save(task, event)
        if task.is_terminal:
            self.settle(task)

    def save_all(self, saved: Sequence[tuple[Task, Event]]) -> None:
        """Keep events that say one thing (`Store.save_all`)."""
        for task, _ in saved:
            self._recent.keep(task)
        self._queue.save_all(saved)
        for task, _ in saved:
            if task.is_terminal:
                self.settle(task)

    def settle(self, task: Task) -> None:
        """Let a task that has settled make room in memory, once it is written."""
        self._recent.settle(task, number=self._queue.put_count, written_count=self._written_count())

    def recovered(self, task: Task, former: int) -> Task:
        """Fail a task of an owner that has died, unless it may go on; return the task as it is then."""
        if may_go_on(task, now_ms=self._clock()):
            return task
        settled, events = recovered(task, now_ms=self._clock())
        self._notes.take((recovery_note(task),))
        self._recent.keep(settled)
        self._queue.put(Takeover(task=settled, events=events, former=former))
        self.settle(settled)
        return settled

    async def flush(self) -> None:
        """Wait until everything so far is written (`Store.flush`): for all who ask in one turn of the loop, at once."""
        if self._written_count() >= self._queue.put_count:
            return
        if self._flushed is None:
            self._flushed = self._after_this_turn()
        await self._flushed.wait()
        if self._queue.is_ended:
            self._notes.note_once("Tasks are kept in memory only: the thread that wrote them has ended.")

    def _after_this_turn(self) -> anyio.Event:
        """Have everything written that comes in this turn of the event loop; return what is set then."""
        written, (call_from_thread, call_next_turn) = anyio.Event(), callers()

        def wake() -> None:
            try:
                call_from_thread(written.set)
            except RuntimeError:  # the event loop is closed: no one waits any more
                return

        def write() -> None:
            self._flushed = None
            self._queue.hurry(wake)

        call_next_turn(write)
        return written
