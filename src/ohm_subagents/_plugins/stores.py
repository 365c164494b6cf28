"""The contract of a store of tasks, and the spec by which a plugin offers one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import field
from pathlib import Path
from typing import Literal, Protocol

from ohm_subagents._records import dataclass
from ohm_subagents.contract.activity import MAX_EVENTS
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.events import Event, Recorded
from ohm_subagents.contract.ids import Clock, SessionId, TaskId
from ohm_subagents.contract.listed_task import ListedTask
from ohm_subagents.contract.profile import fold_id
from ohm_subagents.contract.result import Result
from ohm_subagents.contract.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPolicy:
    """Limits for the tasks that are kept."""

    retention_ms: int = 86_400_000
    """A settled task can be looked up for so many milliseconds."""
    max_entries: int = 200
    """Beyond so many tasks the settled ones are removed, oldest first."""
    max_reasons: int = 500
    """Of so many tasks that are gone the store remembers why."""
    max_events: int = MAX_EVENTS
    """A task of a file that does not say it is read with so many of its newest events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskQuery:
    """A choice of tasks; a field that is None or empty chooses all."""

    status: str | None = None
    """Only tasks of this status."""
    session: str | None = None
    """Only tasks of this session."""
    profile: str | None = None
    """Only tasks of this profile; upper and lower case are the same."""
    id_part: str = ""
    """Only tasks whose id begins or ends with it."""
    parent: str | None = None
    """Only tasks that a subagent of this task has started."""
    call: str | None = None
    """Only tasks that this call of a program has started (`Ohm.begin`), or its start of several tasks."""
    start: str | None = None
    """Only tasks that share the budget of this start (`StartBudget.id`)."""

    def matches(self, task: Task) -> bool:
        """Return True for a task that the query chooses."""
        return (
            self.status in {None, task.status}
            and self.session in {None, task.session_id}
            and (self.profile is None or fold_id(self.profile) == fold_id(task.assignment.profile))
            and (task.id.startswith(self.id_part) or task.id.endswith(self.id_part))
            and self.call in {None, task.assignment.call}
            and self.parent in {None, task.assignment.parent}
            and self.start in {None, task.assignment.shares and task.assignment.shares.id}
        )


class Store(Protocol):
    """Keeps the newest state of every task. Saving is synchronous: state never changes half-way.

    A store that several processes share shows the tasks of all of them; only the owner of a task changes it. A store
    with an attribute `outbox` (`Outbox`) keeps deliveries over a restart; those of another one end with the process.
    One with an attribute `control` (`ControlInbox`) passes commands on to the processes that run its tasks, one
    with an attribute `log` (`TaskLog`) lets the events of these be followed, and one with an attribute `requests`
    (`KeptRequests`) lets another process answer what a task asks.
    """

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Messages since the store was opened: about tasks that were salvaged, recovered or lost."""
        ...

    @property
    def place(self) -> str | None:
        """The path or address of the tasks; None if they end with the process."""
        ...

    @property
    def first_sequence(self) -> int:
        """The number of the first new task id, such that processes that share a store never give the same."""
        ...

    def count(self, query: TaskQuery | None = None) -> int:
        """Return how many tasks are kept, or how many of them a query chooses."""
        ...

    def save(self, task: Task, event: Event) -> None:
        """Keep an event that was just applied; `task` is the state after it. Costs the same however many are kept."""
        ...

    def save_all(self, saved: Sequence[tuple[Task, Event]]) -> None:
        """Keep events of several tasks that say one thing, such as usage that counts for all of them.

        After the death of this process all of them are there, or none.
        """
        ...

    def get(self, task_id: TaskId) -> Result[Task, OhmError]:
        """Return the newest state; else `unknown_task_id`, or `task_expired` with the policy that removed it."""
        ...

    def retain(self, policy: RetentionPolicy) -> None:
        """Keep settled tasks by this policy from now on."""
        ...

    def tasks(self) -> Iterator[Task]:
        """Yield every task, oldest first."""
        ...

    def list(self, query: TaskQuery) -> Iterator[Result[ListedTask, OhmError]]:
        """Yield the tasks that a query chooses, newest first, or why one cannot be read; read as many as are taken.

        A list is there for people: it should read no answers, however large they are.
        """
        ...

    def recent(self) -> tuple[Task, ...]:
        """Return the tasks that this process runs or has lately run, from memory: for displays."""
        ...

    def session(self, session_id: SessionId) -> tuple[Task, ...]:
        """Return the tasks that share a context, oldest first."""
        ...

    async def history(self, task: Task) -> tuple[Recorded, ...]:
        """Return what happened in a task of this store, oldest first, without keeping the event loop waiting.

        A store that keeps no log tells what the task itself holds; one text may then stand for several pieces.
        """
        ...

    def is_foreign(self, task_id: TaskId) -> bool:
        """Return True if another living process runs the task."""
        ...

    def owner(self, task_id: TaskId) -> str:
        """Return who runs an unsettled task, for people.

        `pid 123`, or one of two words that are read by programs too: `ELSEWHERE`, where no number means anything or
        nobody can tell, and `NO_PROCESS`, where it has ended.
        """
        ...

    async def flush(self) -> None:
        """Wait until everything saved so far would survive the death of this process."""
        ...


class Notifier(Protocol):
    """Tells that there may be something new in a store."""

    @property
    def look_s(self) -> float | None:
        """The seconds after which to look anyway, since not all news is told; None where it is."""
        ...

    def follow(self, wake: Callable[[], None]) -> AbstractContextManager[None]:
        """Call `wake`, from any thread, whenever there may be something new, as long as the context is open."""
        ...


class TaskLog(Notifier, Protocol):
    """The part of a store that tells the events of a task as they are written, its attribute `log`."""

    async def after(self, task_id: TaskId, position: int) -> tuple[tuple[Recorded, ...], int]:
        """Return the written events of a task behind a position, oldest first, and the position behind them.

        Position 0 is before the first one. No event is told twice, and none is passed over.
        """
        ...

    def newest(self, task_ids: Collection[TaskId]) -> Mapping[TaskId, int]:
        """Return the position behind the last written event of each of these tasks that is kept."""
        ...


class KeptRequests(Notifier, Protocol):
    """The part of a store that lets requests of subagents outlive their process.

    A store has it as its attribute `requests`; one without it fails a task whose process has died, whatever it waits
    for. Its news is that a process has ended and left unsettled tasks.
    """

    async def adopt(self, read: Task, task: Task, events: tuple[Event, ...]) -> bool:
        """Take over a task whose process has died; return True only once that is stored.

        `read` is the task as it was read, and `task` what `events` have made of it. Return False, and change nothing
        now or later, if another process has the task, has had it since, or if it cannot be written.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRequest:
    """The arguments that a store is opened with."""

    directory: Path
    """The user's directory, in which the store may make files of its own."""
    clock: Clock
    """Gives the time in epoch milliseconds."""
    policy: RetentionPolicy
    """The limits for what is kept; `Store.retain` may change them later."""
    sync: Literal["normal", "full"] = "normal"
    """With `full`, what was flushed survives a power cut too."""
    name_of: Callable[[str], str] = str
    """Gives the name of a profile by its id."""
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The environment of the caller, for the address and the keys of a store elsewhere."""
    is_reader: bool = False
    """Nothing will be saved: show what is kept, make no store where there is none, remove no task, set no store aside.

    Whatever else has to be written before tasks can be shown may be: tables of an earlier release are brought up to
    date, a predecessor is taken in, tasks of dead processes have failed, and a damaged task is put aside.
    """
    predecessor: Callable[[], AbstractAsyncContextManager[Store]] | None = None
    """Opens the store that the spec names as its predecessor, as a reader; None if it names none that is offered.

    A reader shows what it holds as long as there is nothing else, others take its tasks in when they are first opened.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSpec:
    """A store that a plugin offers; `subagents.store` names it by its id."""

    id: str
    """The name that `subagents.store` chooses it by."""
    summary: str
    """One sentence for people."""
    open: Callable[[StoreRequest], AbstractAsyncContextManager[Store]]
    """Open the store; on leaving, flush and close it. Raise OSError, with the reason, where it cannot be used."""
    predecessor: str = ""
    """The id of a store whose tasks this one takes in when it is first opened; see `StoreRequest.predecessor`."""
