"""The queue from the thread of the event loop to the thread that writes: ordered, and cheap to put into."""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.events import Checkpointed, RunStarted, TaskQueued, TaskSettled, ToolEnded, UsageAdded
from ohm_subagents.stores.sqlite.log import merged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Task
    from ohm_subagents.store import RetentionPolicy
    from ohm_subagents.stores.sqlite.log import Entry

MANY: Final = 4096
"""After so many entries of a task that wait, because the disk is slow, its streamed texts are merged."""
LINGER_S: Final = 0.03
"""Seconds that the writer waits for more before it writes, unless a flush waits for it."""


_NOTED: Final = frozenset({TaskQueued, RunStarted, UsageAdded, ToolEnded, TaskSettled, Checkpointed})
"""Events that change more than the log."""


@dataclass(slots=True, kw_only=True)
class Changes:
    """Changes of one task since it was last written."""

    task: Task
    """Its newest state."""
    entries: list[Entry] = field(default_factory=list["Entry"])
    """Its events, in order, and whole states."""
    is_created: bool = False
    """It is not in the file yet."""
    is_moved: bool = False
    """Its row in the index has changed."""
    has_checkpoint: bool = False
    """It has a new conversation state."""

    def note(self, task: Task, event: Event) -> None:
        """Take in what an event means for the tables beside the log."""
        if isinstance(event, TaskQueued):
            self.is_created = True
            self.has_checkpoint = task.activity.checkpoint is not None
            self.entries = [task]
        elif isinstance(event, Checkpointed):
            self.has_checkpoint = True
        else:
            self.is_moved = True

    def follow(self, later: Changes) -> None:
        """Take in what happened after these."""
        self.task = later.task
        self.entries += later.entries
        self.is_moved |= later.is_moved
        self.has_checkpoint |= later.has_checkpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    """A task of a dead owner, as it is now, and the events that ended it."""

    task: Task
    events: tuple[Event, ...]
    former: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """Something was found to be past its time: this policy holds from now on."""

    policy: RetentionPolicy
    now_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Discard:
    """A damaged task that was put aside."""

    number: int
    task_id: TaskId


@dataclass(slots=True, kw_only=True)
class Batch:
    """Everything that was put in since the last time."""

    changes: dict[TaskId, Changes] = field(default_factory=dict["TaskId", Changes])
    takeovers: list[Takeover] = field(default_factory=list[Takeover])
    discards: list[Discard] = field(default_factory=list[Discard])
    flushes: list[Callable[[], None]] = field(default_factory=list["Callable[[], None]"])
    """Called when everything before is written."""
    expired: Expired | None = None
    count: int = 0
    """The number of entries that were ever put in, up to and with this batch."""

    @property
    def is_empty(self) -> bool:
        return not (self.changes or self.takeovers or self.discards or self.flushes or self.expired)


class WriterQueue:
    """One thread puts, another takes; a lock, held for a moment only, makes each `take` a clean cut between events."""

    def __init__(self) -> None:
        self._batch = Batch()
        self._lock = threading.Lock()
        self.is_ended = False
        """True when the thread that takes has ended."""
        self._tokens: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._is_asleep = False
        self._is_urgent = False
        self.put_count = 0
        """The number of entries that were ever put in."""

    def save(self, task: Task, event: Event) -> None:
        """Put in an event. This is on the path of every streamed word."""
        with self._lock:
            changes = self._batch.changes.get(task.id)
            if changes is None:
                changes = self._batch.changes[task.id] = Changes(task=task)
            if type(event) in _NOTED:
                changes.note(task, event)
            changes.task = task
            changes.entries.append((task.updated_ms, event))
            if not len(changes.entries) % MANY:
                changes.entries = merged(changes.entries)
            self.put_count += 1
        if self._is_asleep:
            self._wake()

    def put_whole(self, task: Task, entries: Iterable[Entry]) -> None:
        """Put in a task that was kept somewhere else: its events, and then its state."""
        with self._lock:
            self._batch.changes[task.id] = Changes(
                task=task,
                entries=[*entries, task],
                is_created=True,
                has_checkpoint=task.activity.checkpoint is not None,
            )
            self.put_count += 1
        if self._is_asleep:
            self._wake()

    def put(self, entry: Takeover | Discard | Expired) -> None:
        """Put in anything else."""
        with self._lock:
            match entry:
                case Takeover():
                    self._batch.takeovers.append(entry)
                case Discard():
                    self._batch.discards.append(entry)
                case Expired():
                    self._batch.expired = entry
            self.put_count += 1
        if self._is_asleep:
            self._wake()

    def hurry(self, then: Callable[[], None] | None = None) -> None:
        """Have everything so far written at once; `then` is called in the writer's thread, or here if it has ended."""
        with self._lock:
            is_ended = self.is_ended
            if then is not None and not is_ended:
                self._batch.flushes.append(then)
                self.put_count += 1
        if then is not None and is_ended:
            then()
        self._is_urgent = True
        self._tokens.put(None)

    def end(self) -> None:
        """Close the queue and wake every present and future waiter."""
        with self._lock:
            self.is_ended = True
            flushes, self._batch.flushes = self._batch.flushes, []
        for flush in flushes:
            flush()

    def _wake(self) -> None:
        self._is_asleep = False
        self._tokens.put(None)

    def wait(self, timeout_s: float) -> None:
        """Wait until there is something to write, and a moment longer if nothing is urgent.

        The moment comes first: while there is work, putting something in need not wake this thread.
        """
        if not self._is_urgent:
            self._token(min(LINGER_S, timeout_s))
        if self._is_idle():
            self._is_asleep = True
            if self._is_idle():
                self._token(timeout_s)
            self._is_asleep = False
            if not self._is_urgent and not self._is_idle():
                self._token(LINGER_S)
        self._is_urgent = False

    def _is_idle(self) -> bool:
        return self._batch.is_empty and not self._is_urgent

    def _token(self, timeout_s: float) -> None:
        try:
            self._tokens.get(timeout=timeout_s)
        except queue.Empty:
            return

    def take(self) -> Batch:
        """Take out everything that is there."""
        with self._lock:
            batch, self._batch = self._batch, Batch()
            batch.count = self.put_count
        return batch
