"""Who follows one command while it is carried out."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from ohm_subagents._orchestrator.live import LiveTask
    from ohm_subagents._plugins.observer import Observer
    from ohm_subagents._plugins.suites import Progress
    from ohm_subagents.contract.commands import Reply
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.task import Task


class Onlookers:
    """Who follows one command besides the observers of every task."""

    def __init__(self, observer: Observer | None, progress: Progress | None) -> None:
        self._observer = observer
        self._progress = progress

    def of(self, snapshot: Callable[[], Reply]) -> tuple[Observer, ...]:
        """Them as observers; `snapshot` is the reply as it would be now."""
        watching = () if self._observer is None else (self._observer,)
        return watching if self._progress is None else (*watching, _Step(self._progress, snapshot))

    def first_look(self, snapshot: Callable[[], Reply]) -> None:
        """Show how things stand while nothing happens to the tasks themselves."""
        if self._progress is not None:
            self._progress.step(snapshot, None)


class _Step:
    """Progress as an observer."""

    def __init__(self, progress: Progress, snapshot: Callable[[], Reply]) -> None:
        self._progress = progress
        self._snapshot = snapshot

    def notify(self, task: Task, event: Event) -> None:
        del task
        self._progress.step(self._snapshot, event)


@contextmanager
def watching(tasks: Iterable[LiveTask], observers: tuple[Observer, ...]) -> Generator[None]:
    """Let observers see what happens to tasks that somebody else started."""
    tasks = tuple(tasks)
    for live in tasks:
        live.audience.join(*observers)
    try:
        yield
    finally:
        for live in tasks:
            live.audience.leave(*observers)
