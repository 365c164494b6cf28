"""The tasks that run now."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import anyio

from ohm_subagents._orchestrator import refusals
from ohm_subagents._orchestrator.batch import run_in_order
from ohm_subagents._orchestrator.drive import drive
from ohm_subagents._orchestrator.live import LiveTask
from ohm_subagents._orchestrator.observe import Audience
from ohm_subagents._orchestrator.plan import new_task
from ohm_subagents.contract.events import TaskQueued
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anyio.abc import TaskGroup

    from ohm_subagents._orchestrator.backends import BackendPool
    from ohm_subagents._orchestrator.observe import Logger
    from ohm_subagents._orchestrator.plan import Plan
    from ohm_subagents._plugins.interfaces import Observer
    from ohm_subagents._store.protocol import Store
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.contract.task import Task


class RunningTasks:
    """Gives admitted work an id and a place, drives it in the owner's task group, and forgets it when it has ended."""

    def __init__(
        self,
        *,
        group: TaskGroup,
        pool: BackendPool,
        store: Store,
        clock: Clock,
        new_task_id: Callable[[], str],
        logger: Logger,
        max_running: int | None,
    ) -> None:
        self._group = group
        self._pool = pool
        self._store = store
        self._clock = clock
        self._new_task_id = new_task_id
        self._logger = logger
        self._slots = anyio.CapacityLimiter(math.inf)
        self.limit(max_running)
        self._live: dict[TaskId, LiveTask] = {}

    def limit(self, max_running: int | None) -> None:
        """How many tasks may run at once, over all calls; those that run already go on."""
        self._slots.total_tokens = math.inf if max_running is None else max_running

    def get(self, task_id: TaskId) -> LiveTask | None:
        """The task, while it runs."""
        return self._live.get(task_id)

    def enrol(
        self, admitted: Plan, observers: Sequence[Observer], *, former: Task | None = None
    ) -> Result[LiveTask, OhmError]:
        """A new task, in the session of `former` if it continues one; `duplicate_task_id` if its id is taken."""
        task_id = TaskId(self._new_task_id())
        if task_id in self._live or isinstance(self._store.get(task_id), Ok):
            return Err(refusals.duplicate(task_id))
        task = new_task(task_id, admitted, self._clock())
        if former is not None:
            task = replace(
                task,
                session_id=former.session_id,
                resumed_from=former.id,
                inherited=(*former.inherited, *former.runs),
                checkpoint=former.checkpoint,
            )
        audience = Audience(observers, self._logger)
        live = LiveTask(task, admitted, clock=self._clock, store=self._store, audience=audience)
        self._live[task_id] = live
        return Ok(live)

    def begin(self, tasks: Sequence[LiveTask], *, workers: int) -> None:
        """Queue all of them, then run them in order, at most `workers` at once."""
        for live in tasks:
            live.record(TaskQueued())
        jobs = [partial(self._drive, live) for live in tasks]
        self._group.start_soon(partial(run_in_order, jobs, workers=max(1, min(workers, len(jobs)))))

    def close(self, reason: str) -> None:
        """Cancel everything; the owner's task group then waits for it."""
        for live in tuple(self._live.values()):
            live.cancel(reason)

    async def _drive(self, live: LiveTask, begun: Callable[[], None]) -> None:
        try:
            await drive(live, self._pool, self._slots, begun)
        finally:
            del self._live[live.task.id]
