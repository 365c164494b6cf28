"""The queue from the thread of the event loop to the thread that writes: ordered, and cheap to put into."""

import queue
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Final, Generic, TypeVar

from ohm_subagents._plugins.stores import RetentionPolicy
from ohm_subagents._records import dataclass
from ohm_subagents._store.log import Entry, merged
from ohm_subagents.contract.account import AccountCharged
from ohm_subagents.contract.events import (
    Checkpointed,
    Event,
    RunStarted,
    TaskQueued,
    TaskSettled,
    ToolEnded,
    ToolStarted,
    UsageAdded,
)
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.model_route import RouteResolved
from ohm_subagents.contract.task import Task
from ohm_subagents.contract.workspace import WorkspaceKept

Other = TypeVar("Other")
MANY: Final = 4096
"""After so many entries of a task that wait, because the disk is slow, its streamed texts are merged."""
LINGER_S: Final = 0.03
"""Seconds that the writer waits for more before it writes, unless a flush waits for it."""


@dataclass(slots=True, kw_only=True)
class Changes:
    """Changes of one task since it was last written."""

    task: Task
    """Its newest state."""
    entries: list[Entry] = field(default_factory=list[Entry])
    """Its events, in order, and whole states."""
    is_created: bool = False
    """It is not in the file yet."""
    is_moved: bool = False
    """Its row in the index has changed."""
    has_checkpoint: bool = False
    """It has a new conversation state."""
    has_settled: bool = False
    """It has settled, and belongs into the outbox."""
    is_late: bool = False
    """It had settled before: whoever has it adds to it."""

    @property
    def is_awaited(self) -> bool:
        """Return True if it has settled or asks: whoever waits for that is to be told."""
        return self.has_settled or bool(self.task.requests)

    @property
    def is_all_late(self) -> bool:
        """Return True if all of it came after the end: a task that was removed meanwhile does without."""
        return self.is_late and not self.has_settled

    def follow(self, later: "Changes") -> None:
        """Take in what happened after these."""
        self.task = later.task
        self.entries += later.entries
        self.is_moved |= later.is_moved
        self.has_checkpoint |= later.has_checkpoint
        self.has_settled |= later.has_settled
        self.is_late |= later.is_late


def _create(changes: Changes, task: Task) -> None:
    changes.is_created = True
    changes.has_checkpoint = task.activity.checkpoint is not None
    changes.entries = [task]


def _move(changes: Changes, task: Task) -> None:
    changes.is_moved = True
    changes.is_late |= task.is_terminal


def _keep_checkpoint(changes: Changes, task: Task) -> None:
    changes.has_checkpoint = True
    changes.is_late |= task.is_terminal


def _keep_late(changes: Changes, task: Task) -> None:
    changes.is_late |= task.is_terminal


def _settle(changes: Changes, _task: Task) -> None:
    changes.is_moved = changes.has_settled = True


_NOTED: Final[Mapping[type, Callable[[Changes, Task], None]]] = {
    TaskQueued: _create,
    **dict.fromkeys((RunStarted, RouteResolved, UsageAdded, ToolStarted, ToolEnded, AccountCharged), _move),
    Checkpointed: _keep_checkpoint,
    WorkspaceKept: _keep_late,
    TaskSettled: _settle,
}
"""The events that change more than the log, and what takes in how."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    """A task of a dead owner, to be taken over."""

    task: Task
    """The task as it is now."""
    events: tuple[Event, ...]
    """The events that made it so."""
    former: int
    """The dead owner."""
    is_tried_once: bool = False
    """True gives it up where it cannot be written: whoever wanted the task does without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired:
    """Something was found to be past its time: this policy holds from now on."""

    policy: RetentionPolicy
    """The policy."""
    now_ms: int
    """The time at which it was found, in epoch milliseconds."""


@dataclass(slots=True, kw_only=True)
class Batch(Generic[Other]):
    """Everything that was put in since the last time."""

    changes: dict[TaskId, Changes] = field(default_factory=dict[TaskId, Changes])
    """The changes of tasks, by their ids."""
    takeovers: list[Takeover] = field(default_factory=list[Takeover])
    """The tasks of dead owners that were taken over."""
    others: list[Other] = field(default_factory=list[Other])
    """The changes that a store has of its own, in order."""
    flushes: list[Callable[[], None]] = field(default_factory=list["Callable[[], None]"])
    """Called when everything before is written."""
    expired: Expired | None = None
    """The policy that holds from now on."""
    count: int = 0
    """The number of entries that were ever put in, up to and with this batch."""

    @property
    def is_empty(self) -> bool:
        return not (self.changes or self.takeovers or self.others or self.flushes or self.expired)


class WriterQueue(Generic[Other]):
    """One thread puts, another takes; a lock, held for a moment only, makes each `take` a clean cut between events.

    `Other` is what a store changes besides tasks.
    """

    def __init__(self) -> None:
        self._batch = Batch[Other]()
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
            self._put_event(task, event)
        if self._is_asleep:
            self._wake()

    def _put_event(self, task: Task, event: Event) -> None:
        changes = self._batch.changes.get(task.id)
        if changes is None:
            changes = self._batch.changes[task.id] = Changes(task=task)
        take_in = _NOTED.get(type(event))
        if take_in is not None:
            take_in(changes, task)
        changes.task = task
        changes.entries.append((task.updated_ms, event))
        if not len(changes.entries) % MANY:
            changes.entries = merged(changes.entries)
        self.put_count += 1

    def save_all(self, saved: Iterable[tuple[Task, Event]]) -> None:
        """Put in events that are taken out together."""
        with self._lock:
            for task, event in saved:
                self._put_event(task, event)
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

    def put(self, entry: Takeover | Expired | Other) -> None:
        """Put in anything else."""
        with self._lock:
            match entry:
                case Takeover():
                    self._batch.takeovers.append(entry)
                case Expired():
                    self._batch.expired = entry
                case _:
                    self._batch.others.append(entry)
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

    def take(self) -> Batch[Other]:
        """Take out everything that is there."""
        fresh: Batch[Other] = Batch()  # `Batch[Other]()` looks for its type each time, which takes longer than the rest
        with self._lock:
            batch, self._batch = self._batch, fresh
            batch.count = self.put_count
        return batch
