"""An observer that remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from ohm_subagents._plugins.hooks.specs import hookimpl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.task import Task


class EventLog:
    """Every event with the state after it. Pass it to one call as `observer=`, or in `Ohm.open(plugins=[...])`."""

    def __init__(self) -> None:
        self.entries: list[tuple[Task, Event]] = []
        self._waiting: list[tuple[Callable[[Task, Event], bool], anyio.Event]] = []

    @hookimpl
    def ohm_observers(self) -> Iterable[Observer]:
        """Offer it as a plugin."""
        return (self,)

    def notify(self, task: Task, event: Event) -> None:
        """Remember one event, and wake who waits for it."""
        self.entries.append((task, event))
        for matches, seen in self._waiting:
            if matches(task, event):
                seen.set()

    def kinds(self, task_id: str | None = None) -> list[str]:
        """The kinds of the events so far, of all tasks or of one."""
        return [event.kind for task, event in self.entries if task_id in {None, task.id}]

    async def until(self, matches: Callable[[Task, Event], bool]) -> None:
        """Wait for an event; returns at once if it has been seen."""
        if any(matches(task, event) for task, event in self.entries):
            return
        seen = anyio.Event()
        self._waiting.append((matches, seen))
        await seen.wait()
