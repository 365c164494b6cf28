"""The newest state, the timeline and the transcript of tasks, from their events: each look reads on from the last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents.contract import Err, Ok, Recorded, TaskSettled
from ohm_subagents.store import apply, end_of, unstarted
from ohm_subagents.ui.entries import Entries
from ohm_subagents.ui.registry import log_ends
from ohm_subagents.ui.timeline import Timeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ohm_subagents.contract import ListedTask, OhmError, Result, Task
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.store import Store, TaskLog

_MOST: Final = 500
"""So many tasks are held: more than the largest tree that people look at."""


class Reading:
    """A task as far as its events were read; at its end, as its store has it."""

    def __init__(self, task: Task) -> None:
        """Begin before the first event."""
        self._cwd = "" if task.launch is None else task.launch.cwd
        self._begin(task)

    def _begin(self, task: Task) -> None:
        self.task = task if task.is_terminal else unstarted(task)
        self.timeline = Timeline(task.id, self._cwd)
        self.position = 0
        """The place in the log up to which it was read."""
        self.changes = 0
        """The number of events so far."""
        self.has_ended = False
        """True once its end was among them."""
        self.is_of_store = False
        """True once the task is as its store has it at the end."""
        self._entries = Entries(self._cwd)
        self._unread: list[Recorded] = []

    @property
    def entries(self) -> Entries:
        """The transcript, which is made for those that somebody opens."""
        unread, self._unread = self._unread, []
        for recorded in unread:
            self._entries.add(recorded)
        return self._entries

    def settle(self, task: Task) -> None:
        """Take the task as its store has it at the end, or later: what was used can be told after that."""
        if not self.has_ended:
            end = end_of(task)
            self.add([Recorded(at_ms=end.at_ms, event=end.event)])
        self.task, self.is_of_store = task, True

    async def read_on(self, store: Store) -> None:
        """Read what is new."""
        log: TaskLog | None = getattr(store, "log", None)
        if log is None:
            await self._read_again(store)
        else:
            events, self.position = await log.after(self.task.id, self.position)
            self.add(events)

    async def _read_again(self, store: Store) -> None:
        """Read all of the history, of a store that keeps no log."""
        found = store.get(self.task.id)
        if isinstance(found, Ok) and _progress(found.ok_value) != _progress(self.task):
            self._begin(found.ok_value)
            self.add(await store.history(found.ok_value))

    def add(self, events: Iterable[Recorded]) -> None:
        """Take in what happened."""
        for recorded in events:
            if not self.task.is_terminal:
                self.task = apply(self.task, recorded.event, at_ms=recorded.at_ms)
            self.has_ended = self.has_ended or isinstance(recorded.event, TaskSettled)
            self.timeline.add(recorded)
            self._unread.append(recorded)
            self.changes += 1


class Readings:
    """The readings of the tasks that somebody has looked at lately."""

    def __init__(self, store: Store) -> None:
        """Hold none yet."""
        self._store = store
        self._held: dict[TaskId, Reading] = {}
        self._lock = anyio.Lock()

    async def of(self, *tasks: ListedTask) -> list[Result[Reading, OhmError]]:
        """Return what is known of tasks now."""
        async with self._lock:  # two pages may ask for the same tasks
            ends = log_ends(self._store, [task.id for task in tasks if task.is_terminal])
            return [await self._of(task, ends) for task in tasks]

    async def progress(self, *tasks: ListedTask) -> list[int]:
        """Return how far each task has come: another number once something has happened."""
        if ends := log_ends(self._store, [task.id for task in tasks]):
            return [ends.get(task.id, 0) for task in tasks]
        return [read.ok_value.changes if isinstance(read, Ok) else 0 for read in await self.of(*tasks)]

    async def _of(self, listed: ListedTask, ends: Mapping[TaskId, int]) -> Result[Reading, OhmError]:
        reading = self._held.pop(listed.id, None)
        if reading is None or not reading.is_of_store or reading.position != ends.get(listed.id):
            read = await self._read(listed, reading, ends.get(listed.id))
            if isinstance(read, Err):
                return read
            reading = read.ok_value
        self._held[listed.id] = reading  # the last of all to go
        for oldest in [*self._held][:-_MOST]:
            del self._held[oldest]
        return Ok(reading)

    async def _read(self, listed: ListedTask, known: Reading | None, end: int | None) -> Result[Reading, OhmError]:
        """Read on; of a task that has settled, whether its own process has said so or has died, to its end."""
        store = self._store
        if known is not None and not listed.is_terminal:
            await known.read_on(store)
            return Ok(known)
        found = store.get(listed.id)
        if isinstance(found, Err):
            return found
        reading = known or Reading(found.ok_value)
        await reading.read_on(store)
        if not found.ok_value.is_terminal:
            return Ok(reading)
        if not reading.has_ended:
            await store.flush()
            await reading.read_on(store)
        newest = found if reading.position == end else store.get(listed.id)
        if isinstance(newest, Err):
            return newest
        reading.settle(newest.ok_value)
        return Ok(reading)


def _progress(task: Task) -> tuple[object, ...]:
    activity = task.activity
    return task.updated_ms, activity.usage, activity.account, activity.workspace
