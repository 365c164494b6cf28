"""Live frames of one call: an observer that turns events into throttled, never repeated results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from ohm_subagents.contract.commands import Accepted, Started

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents._plugins.interfaces import OnUpdate, ToolResult
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Task


class Frames:
    """Every frame shows all tasks of the call so far. Transitions always show; streamed steps are throttled."""

    def __init__(self, on_update: OnUpdate, project: Callable[[Started], ToolResult], *, throttle_ms: int) -> None:
        self._on_update = on_update
        self._project = project
        self._throttle_s = throttle_ms / 1000
        self._tasks: dict[TaskId, Task] = {}
        self._shown_at = float("-inf")
        self._shown: object = None

    def notify(self, task: Task, event: Event) -> None:
        """Show the new state, unless it comes too soon or shows nothing new."""
        del event
        known = self._tasks.get(task.id)
        changed_state = known is None or known.status != task.status
        self._tasks[task.id] = task
        now = anyio.current_time()
        if not changed_state and now - self._shown_at < self._throttle_s:
            return
        items = tuple(Accepted(task=each) for each in self._tasks.values())
        frame = self._project(Started(items=items, backend=task.backend))
        if frame.details == self._shown:
            return
        self._shown, self._shown_at = frame.details, now
        self._on_update(frame)
