"""Observers: they are notified of every event of the engine."""

from __future__ import annotations

from typing import Protocol

from ohm_subagents.contract.events import Event
from ohm_subagents.contract.task import Task


class Observer(Protocol):
    """Reads every event; changes nothing. One that raises is logged once and muted for that task."""

    def notify(self, task: Task, event: Event) -> None:
        """Read an event that was just applied; `task` is the state after it."""
        ...
