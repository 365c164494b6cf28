"""Commands in, replies out."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

import anyio

from ohm_subagents._orchestrator.batch import run_in_order
from ohm_subagents._orchestrator.drive import drive
from ohm_subagents._orchestrator.live import LiveTask
from ohm_subagents._orchestrator.observe import Audience
from ohm_subagents._orchestrator.plan import label, plan
from ohm_subagents.contract.commands import Accepted, ItemReply, Refused, Rejected, Reply, Start, Started, StartItem
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.events import TaskQueued
from ohm_subagents.contract.ids import SessionId, TaskId
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.task import Route, Task

if TYPE_CHECKING:
    from collections.abc import Callable

    from anyio.abc import TaskGroup

    from ohm_subagents._orchestrator.backends import BackendPool
    from ohm_subagents._orchestrator.observe import Logger
    from ohm_subagents._orchestrator.plan import Plan, World
    from ohm_subagents._plugins.interfaces import Observer
    from ohm_subagents._store.protocol import Store
    from ohm_subagents.contract.commands import Command
    from ohm_subagents.contract.ids import Clock

CALLER_GONE = "The caller stopped waiting."


class Orchestrator:
    """The engine: admits items, runs them in the task group of its owner, and waits for them when asked to."""

    def __init__(
        self,
        *,
        group: TaskGroup,
        world: Callable[[], Result[World, OhmError]],
        pool: BackendPool,
        store: Store,
        clock: Clock,
        new_task_id: Callable[[], str],
        logger: Logger,
        max_running: int | None,
    ) -> None:
        self._group = group
        self._world = world
        self._pool = pool
        self._store = store
        self._clock = clock
        self._new_task_id = new_task_id
        self._logger = logger
        self._slots = None if max_running is None else anyio.CapacityLimiter(max_running)
        self._live: dict[TaskId, LiveTask] = {}

    async def execute(self, command: Command, *, observer: Observer | None = None) -> Reply:
        """Carry out a command. Never raises for bad input; cancelling the caller cancels the tasks it waits for."""
        match self._world():
            case Err(error):
                return Rejected(error=error, backend="task")
            case Ok(world):
                backend = label(world.config.subagent_backend, world.backends)
                if not world.config.features.subagents:
                    return Rejected(error=_DISABLED, backend=backend)
                match command:
                    case Start():
                        return await self._start(command, world, backend, observer)

    async def _start(self, command: Start, world: World, backend: str, observer: Observer | None) -> Reply:
        if command.background and world.config.subagents.async_start != "allow":
            return Rejected(error=_ASYNC_REFUSED, backend=backend)
        admitted = [self._admit(item, world, observer) for item in command.items]
        started = [entry for entry in admitted if isinstance(entry, LiveTask)]
        for live in started:
            live.record(TaskQueued())
        workers = world.config.subagents.task_max_concurrency if command.parallel else 1
        jobs = [partial(self._drive, live) for live in started]
        self._group.start_soon(partial(run_in_order, jobs, workers=max(1, min(workers, len(jobs)))))
        if not command.background:
            await _settle_all(started)
        return Started(items=tuple(_reply(entry) for entry in admitted), backend=backend)

    def _admit(self, item: StartItem, world: World, observer: Observer | None) -> LiveTask | Refused:
        match plan(item, world):
            case Err(refused):
                return refused
            case Ok(admitted):
                task_id = TaskId(self._new_task_id())
                if self._store.get(task_id) is not None:
                    return Refused(item=item, profile=admitted.profile.id, error=_duplicate(task_id))
                observers = (*world.host.observers(), *(() if observer is None else (observer,)))
                live = LiveTask(
                    _task(task_id, admitted, self._clock()),
                    admitted,
                    clock=self._clock,
                    store=self._store,
                    audience=Audience(observers, self._logger),
                )
                self._live[task_id] = live
                return live

    async def _drive(self, live: LiveTask, begun: Callable[[], None]) -> None:
        try:
            await drive(live, self._pool, self._slots or nullcontext(), begun)
        finally:
            del self._live[live.task.id]

    def close(self, reason: str) -> None:
        """Cancel everything that still runs; the owner's task group then waits for it."""
        for live in tuple(self._live.values()):
            live.cancel(reason)


async def _settle_all(started: list[LiveTask]) -> None:
    try:
        for live in started:
            await live.settled.wait()
    finally:
        for live in started:
            live.cancel(CALLER_GONE)


def _reply(entry: LiveTask | Refused) -> ItemReply:
    return Accepted(task=entry.task) if isinstance(entry, LiveTask) else entry


def _task(task_id: TaskId, admitted: Plan, now_ms: int) -> Task:
    item = admitted.item
    return Task(
        id=task_id,
        session_id=SessionId(f"session_{task_id.removeprefix('task_')}"),
        profile=admitted.profile.id,
        name=admitted.profile.name,
        description=item.description.strip(),
        prompt=item.prompt.strip(),
        invocation=item.invocation,
        backend=admitted.label,
        route=Route(runtime=admitted.label, route=admitted.label),
        created_ms=now_ms,
        updated_ms=now_ms,
        max_events=admitted.max_events,
        summary=f"Queued {admitted.profile.name}: {item.description}",
    )


def _duplicate(task_id: TaskId) -> OhmError:
    return OhmError(code=ErrorCode.DUPLICATE_TASK_ID, message=f"Task id '{task_id}' already exists", task_id=task_id)


_DISABLED = OhmError(
    code=ErrorCode.SUBAGENTS_DISABLED,
    summary="Subagents feature is disabled",
    message="Enable features.subagents to use task orchestration and primary subagent tools",
)
_ASYNC_REFUSED = OhmError(
    code=ErrorCode.ASYNC_DISABLED,
    summary="Async/background subagent execution is disabled",
    message="Subagent starts must run synchronously. Remove async:true and run start directly.",
)
