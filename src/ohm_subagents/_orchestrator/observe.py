"""The observers of one task."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents._orchestrator.log import Logger
    from ohm_subagents._orchestrator.mishaps import Mishaps
    from ohm_subagents._plugins.observer import Observer
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.task import Task


class Audience:
    """The observers of one task. One that raises is logged once, muted for that task, and a diagnostic of its `Ohm`."""

    __slots__ = ("_is_telling", "_mishaps", "_observers", "_untold", "logger")

    def __init__(self, observers: Iterable[Observer], logger: Logger, mishaps: Mishaps) -> None:
        self._observers = list(observers)
        self._untold: list[tuple[Task, Event]] = []
        self._is_telling = False
        self.logger = logger
        self._mishaps = mishaps

    def join(self, *observers: Observer) -> None:
        """Tell some more from now on."""
        self._observers += observers

    def leave(self, *observers: Observer) -> None:
        """Tell them no more; one may have been muted before."""
        self._observers = [one for one in self._observers if one not in observers]

    def notify(self, task: Task, event: Event) -> None:
        """Tell everyone, in order: what an observer sets off is told after what it was told."""
        if self._is_telling:
            self._untold.append((task, event))
            return
        self._is_telling = True
        try:
            self._tell(task, event)
            while self._untold:
                self._tell(*self._untold.pop(0))
        finally:
            self._is_telling = False

    def _tell(self, task: Task, event: Event) -> None:
        for observer in tuple(self._observers):
            try:
                observer.notify(task, event)
            except KeyboardInterrupt:
                raise
            except BaseException as exc:
                self._observers.remove(observer)
                kind = type(observer).__name__
                self.logger.exception("observer.muted", observer=kind, task_id=task.id)
                self._mishaps.raised(f"observer {kind}", exc, "it hears no more of that task")
