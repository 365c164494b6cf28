"""From the thread of the event loop to the thread that writes: in order, bounded, and cheap to put into."""

from __future__ import annotations

import queue
import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_subagents._store.transcript import STREAMED
from ohm_subagents.contract.events import TaskQueued

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ohm_subagents._store.retention import RetentionPolicy
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Task

MAX_STREAMED: Final = 4096
"""Beyond so many entries a task's streamed events are not queued, but replaced by what they add up to."""
LINGER_S: Final = 0.01
"""How long the writer waits for more before it writes, unless somebody waits for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Somebody waits; `then` is called when everything before is written."""

    then: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    """A task of a dead owner, as it is now, and the events that ended it."""

    task: Task
    events: tuple[Event, ...]
    former: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Somebody has looked at the clock: this policy holds from now on."""

    policy: RetentionPolicy
    now_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Discard:
    """A damaged row that was put aside."""

    number: int
    task_id: TaskId


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What was put in since the last time; `behind` are the tasks whose events were too many."""

    saved: tuple[tuple[Task, Event], ...]
    behind: Mapping[TaskId, Task]
    takeovers: tuple[Takeover, ...]
    discards: tuple[Discard, ...]
    waiting: tuple[Callable[[], None], ...]
    look: Look | None
    count: int


class WriterQueue:
    """One thread puts, another takes; a lock, held for a moment only, makes each `take` a clean cut between events."""

    def __init__(self) -> None:
        self._entries: deque[tuple[Task, Event] | Takeover | Discard | Look | Ask] = deque()
        self._behind: dict[TaskId, Task] = {}
        self._lock = threading.Lock()
        self.is_ended = False
        """Whether nobody takes any more."""
        self._tokens: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._is_asleep = False
        self._is_urgent = False
        self.put_count = 0
        """How many entries were put in, ever."""

    def save(self, task: Task, event: Event) -> None:
        """The task changed. This is on the path of every streamed word."""
        with self._lock:
            is_behind = task.id in self._behind
            if type(event) not in STREAMED or (not is_behind and len(self._entries) < MAX_STREAMED):
                self._entries.append((task, event))
            else:
                is_behind = True
            if is_behind:
                self._behind[task.id] = task
            self.put_count += 1
        if self._is_asleep:
            self._wake()

    def put(self, entry: tuple[Task, Event] | Takeover | Discard | Look) -> None:
        """In its turn."""
        with self._lock:
            self._entries.append(entry)
            self.put_count += 1
        if self._is_asleep:
            self._wake()

    def put_whole(self, task: Task) -> None:
        """A task that came from somewhere else, with all that was ever streamed."""
        with self._lock:
            if task.activity.events or task.activity.files:
                self._behind[task.id] = task
            self._entries.append((task, TaskQueued()))
            self.put_count += 1
        if self._is_asleep:
            self._wake()

    def hurry(self, then: Callable[[], None] | None = None) -> None:
        """Have everything so far written at once; `then` is called in the writer's thread, or here if it has ended."""
        with self._lock:
            is_ended = self.is_ended
            if then is not None and not is_ended:
                self._entries.append(Ask(then=then))
                self.put_count += 1
        if then is not None and is_ended:
            then()
        self._is_urgent = True
        self._tokens.put(None)

    def end(self) -> None:
        """Nobody takes any more: whoever waits, or will, waits in vain, and is told so at once."""
        with self._lock:
            self.is_ended = True
            waiting = [entry.then for entry in self._entries if isinstance(entry, Ask)]
        for then in waiting:
            then()

    def _wake(self) -> None:
        self._is_asleep = False
        self._tokens.put(None)

    def wait(self, timeout_s: float) -> None:
        """Until there is something to write, and a moment longer if nobody is in a hurry.

        The moment comes first: while there is work, whoever puts something in need not wake this thread.
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
        return not (self._entries or self._behind or self._is_urgent)

    def _token(self, timeout_s: float) -> None:
        try:
            self._tokens.get(timeout=timeout_s)
        except queue.Empty:
            return

    def take(self) -> Batch:
        """Everything that is there."""
        with self._lock:
            entries, self._entries = self._entries, deque()
            behind, self._behind = self._behind, {}
            count = self.put_count
        saved: list[tuple[Task, Event]] = []
        takeovers: list[Takeover] = []
        discards: list[Discard] = []
        waiting: list[Callable[[], None]] = []
        look = None
        for entry in entries:
            if isinstance(entry, tuple):
                saved.append(entry)
            elif isinstance(entry, Takeover):
                takeovers.append(entry)
            elif isinstance(entry, Discard):
                discards.append(entry)
            elif isinstance(entry, Ask):
                waiting.append(entry.then)
            else:
                look = entry
        return Batch(
            saved=tuple(saved),
            behind=behind,
            takeovers=tuple(takeovers),
            discards=tuple(discards),
            waiting=tuple(waiting),
            look=look,
            count=count,
        )
