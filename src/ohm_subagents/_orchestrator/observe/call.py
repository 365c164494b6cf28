"""One command while it is carried out: who follows it, and what ends the waiting for it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from ohm_subagents._concurrency.abort import wait_or_abort
from ohm_subagents._records import dataclass
from ohm_subagents.contract.replies import tasks_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    import anyio

    from ohm_subagents._orchestrator.task_options import TaskOptions
    from ohm_subagents._plugins.suites.interface import Progress
    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents.contract.commands import Start
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.ids import CallId, TaskId
    from ohm_subagents.contract.replies import Reply
    from ohm_subagents.contract.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramCall:
    """A tool call that a program follows by its id.

    Fields:
        id: kept with each task that the call starts.
        observer: notified of every event of these tasks, and of another task's while a command of the call is about it.
        options: hold for each task that the call starts.
        told: gets the tasks whose end the replies to its commands tell.
        heeded: gets the options that a command of the call has been completed with.
    """

    id: CallId
    observer: Observer
    options: TaskOptions
    told: set[TaskId] = field(default_factory=set["TaskId"])
    heeded: set[str] = field(default_factory=set[str])


class Awaited(Protocol):
    """A task that runs, and the number of calls that wait for it."""

    waiting_count: int


class CommandCall:
    """The observer and the progress of one command, the event with which its caller aborts it, and its program's call.

    Fields:
        lasting: the observers that keep following the tasks that the command starts when it is over.
    """

    def __init__(
        self,
        observer: Observer | None,
        progress: Progress | None,
        abort: anyio.Event | None,
        program: ProgramCall | None = None,
    ) -> None:
        self._observer = observer
        self._progress = progress
        self._abort = abort
        self._program = program
        self.lasting: tuple[Observer, ...] = () if program is None else (program.observer,)

    @property
    def id(self) -> CallId | None:
        """The id of the program's call, if it has one."""
        return None if self._program is None else self._program.id

    def completed(self, command: Start) -> Start:
        """Return a start with the options of the program's call, which hold beside the arguments of the tool."""
        if self._program is None:
            return command
        self._program.heeded.update(self._program.options.named)
        return self._program.options.complete(command)

    def visitors(self, snapshot: Callable[[], Reply]) -> tuple[Observer, ...]:
        """Return the followers as observers of tasks that the command does not start."""
        followers = self.observers(snapshot)
        return followers if self._program is None else (_Visitor(self._program), *followers)

    def observers(self, snapshot: Callable[[], Reply]) -> tuple[Observer, ...]:
        """Return the followers as observers of tasks; `snapshot` gives the reply as it would be now."""
        observers = () if self._observer is None else (self._observer,)
        return observers if self._progress is None else (*observers, _ProgressObserver(self._progress, snapshot))

    def show(self, snapshot: Callable[[], Reply]) -> None:
        """Show the state of the command although nothing happened to its tasks."""
        if self._progress is not None:
            self._progress.step(snapshot, None)

    def tell(self, reply: Reply) -> None:
        """Note which ends of tasks the caller reads in the reply."""
        if self._program is not None:
            self._program.told.update(task.id for task in tasks_of(reply) if task.is_terminal)

    @property
    def abort(self) -> anyio.Event | None:
        """The event by which the caller aborts it."""
        return self._abort

    @property
    def is_aborted(self) -> bool:
        """True once the caller has aborted it."""
        return self._abort is not None and self._abort.is_set()

    async def wait(self, until: Callable[[], Awaitable[object]], tasks: Iterable[Awaited]) -> bool:
        """Wait for tasks until `until` returns or the caller aborts; return True in the second case."""
        for live in tasks:
            live.waiting_count += 1
        try:
            return await wait_or_abort(until, self._abort)
        finally:
            for live in tasks:
                live.waiting_count -= 1


class _Visitor:
    """Passes on the events of tasks that the call has not started: it follows its own as long as they last."""

    def __init__(self, program: ProgramCall) -> None:
        self._program = program

    def notify(self, task: Task, event: Event) -> None:
        if task.assignment.call != self._program.id:
            self._program.observer.notify(task, event)


class _ProgressObserver:
    def __init__(self, progress: Progress, snapshot: Callable[[], Reply]) -> None:
        self._progress = progress
        self._snapshot = snapshot

    def notify(self, task: Task, event: Event) -> None:
        del task
        self._progress.step(self._snapshot, event)
