"""The observers of a task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from ohm_subagents._orchestrator.observe.host_faults import HostFaults
    from ohm_subagents._orchestrator.observe.logger import Logger
    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.task import Task


class Follower(ABC):
    """An observer that waits for the end of a task, and is told too that the task is left to another process."""

    @abstractmethod
    def notify(self, task: Task, event: Event) -> None:
        """See `Observer.notify`."""

    @abstractmethod
    def leave(self, task: Task) -> None:
        """Wait no more: nothing happens to the task in this process, although it has not settled."""


class Observers:
    """The observers of one task. One that raises is logged once, removed from that task, and reported as a fault."""

    __slots__ = ("_backlog", "_faults", "_is_notifying", "_observers", "logger")

    def __init__(self, observers: Iterable[Observer], logger: Logger, faults: HostFaults) -> None:
        self._observers = tuple(observers)
        self._backlog: list[tuple[Task, Event]] = []
        self._is_notifying = False
        self.logger = logger
        self._faults = faults

    def add(self, *observers: Observer) -> None:
        """Notify these too from now on."""
        self._observers += observers

    def remove(self, *observers: Observer) -> None:
        """Notify these no more; one that raised may be gone already."""
        if observers:
            self._observers = tuple(one for one in self._observers if one not in observers)

    def notify(self, task: Task, event: Event) -> None:
        """Notify all, in order; an event that an observer sets off is passed on after the one that it was given."""
        if self._is_notifying:
            self._backlog.append((task, event))
            return
        self._is_notifying = True
        try:
            while True:
                for observer in self._observers:
                    try:
                        observer.notify(task, event)
                    except KeyboardInterrupt:
                        raise
                    except BaseException as exc:  # noqa: BLE001  an observer is a stranger's; it is removed
                        self._mute(observer, task, exc)
                if not self._backlog:
                    break
                task, event = self._backlog.pop(0)
        finally:
            self._is_notifying = False

    def leave(self, task: Task) -> None:
        """Tell those who wait for its end that the task is left to another process."""
        for observer in self._observers:
            if isinstance(observer, Follower):
                observer.leave(task)

    def _mute(self, observer: Observer, task: Task, exc: BaseException) -> None:
        self.remove(observer)
        kind = type(observer).__name__
        self.logger.exception("observer.muted", observer=kind, task_id=task.id)
        self._faults.raised(f"observer {kind}", exc, "it hears no more of that task")


@contextmanager
def subscribed(tasks: Iterable[Observers], observers: tuple[Observer, ...]) -> Generator[None]:
    """Notify observers of the events of several tasks while the context is open."""
    tasks = tuple(tasks)
    for each in tasks:
        each.add(*observers)
    try:
        yield
    finally:
        for each in tasks:
            each.remove(*observers)
