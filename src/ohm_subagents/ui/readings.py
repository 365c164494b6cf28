"""The newest state, the timeline and the transcript of tasks, from their events: each look reads on from the last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents.contract import Err, Ok, Recorded
from ohm_subagents.store import apply, end_of, unstarted
from ohm_subagents.ui.entries import Entries
from ohm_subagents.ui.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents.contract import OhmError, Result, Task
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.store import Store, TaskLog

_MOST: Final = 500
"""So many tasks are held: more than the largest tree that people look at."""


class Reading:
    """A task as far as its events were read."""

    def __init__(self, task: Task) -> None:
        """Begin before the first event."""
        self._cwd = "" if task.launch is None else task.launch.cwd
        self._begin(task)
        self._lock = anyio.Lock()

    def _begin(self, task: Task) -> None:
        self.task = unstarted(task)
        self.timeline = Timeline(task.id, self._cwd)
        self.entries = Entries(self._cwd)
        self._position = 0

    async def read_on(self, store: Store) -> bool:
        """Read what is new; return True if there was something."""
        async with self._lock:
            if self.task.is_terminal and self.task.activity.workspace is None:
                return False  # else its work may land, or be discarded
            log: TaskLog | None = getattr(store, "log", None)
            if log is None:
                return await self._read_again(store)
            events, self._position = await log.after(self.task.id, self._position)
            self._add(events)
            return bool(events)

    async def end(self, store: Store, settled: Task) -> None:
        """Read the rest of a task that has settled, whether its own process has said so or has died."""
        await self.read_on(store)
        if not self.task.is_terminal:
            await store.flush()
            await self.read_on(store)
        if not self.task.is_terminal:
            event = end_of(settled)
            self._add([Recorded(at_ms=event.at_ms, event=event.event)])

    async def _read_again(self, store: Store) -> bool:
        """Read all of the history, of a store that keeps no log."""
        found = store.get(self.task.id)
        if isinstance(found, Err):
            return False
        newest, known = found.ok_value, self.task
        if (newest.updated_ms, newest.activity.workspace) == (known.updated_ms, known.activity.workspace):
            return False
        self._begin(found.ok_value)
        self._add(await store.history(found.ok_value))
        return True

    def _add(self, events: Iterable[Recorded]) -> None:
        for recorded in events:
            self.task = apply(self.task, recorded.event, at_ms=recorded.at_ms)
            self.timeline.add(recorded)
            self.entries.add(recorded)


class Readings:
    """The readings of the tasks that somebody has looked at lately."""

    def __init__(self, store: Store) -> None:
        """Hold none yet."""
        self._store = store
        self._held: dict[TaskId, Reading] = {}

    async def of(self, task_id: TaskId, *, is_settled: bool) -> Result[Reading, OhmError]:
        """Return what is known of a task now; `is_settled` says that the store has its end."""
        reading = self._held.get(task_id)
        if reading is None or (is_settled and not reading.task.is_terminal):
            found = self._store.get(task_id)
            if isinstance(found, Err):
                return found
            reading = reading or Reading(found.ok_value)
            if found.ok_value.is_terminal:
                await reading.end(self._store, found.ok_value)
        await reading.read_on(self._store)
        self._held.pop(task_id, None)
        self._held[task_id] = reading  # the last of all to go
        for oldest in [*self._held][:-_MOST]:
            del self._held[oldest]
        return Ok(reading)
