"""Tasks whose process has died and whose backend goes on with them: this process takes them up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from ohm_subagents._orchestrator.admission.plan import plan
from ohm_subagents._orchestrator.run.requests import kept_requests
from ohm_subagents._plugins.stores import TaskQuery
from ohm_subagents._store.recovery import outlives_owner, recovered
from ohm_subagents.contract.commands import Send
from ohm_subagents.contract.events import TaskSettled
from ohm_subagents.contract.requests import AnswerGiven, Deny
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.task import apply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ohm_subagents._orchestrator.admission.context import AdmissionContext
    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents._orchestrator.run.requests import Requests
    from ohm_subagents._orchestrator.running import RunningTasks
    from ohm_subagents._plugins.stores import KeptRequests, Store
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.task import Task

_ASKED_AGAIN = Deny("the process that was asked has ended; the run asks again")


class Attachment:
    """Finds the tasks of a directory that outlive their process, and goes on with them in this one."""

    def __init__(
        self,
        *,
        context: Callable[[], Result[AdmissionContext, OhmError]],
        running: RunningTasks,
        requests: Requests,
        store: Store,
    ) -> None:
        self._context = context
        self._running = running
        self._requests = requests
        self._store = store
        self._clock = requests.clock

    async def take_up(self, directory: Path) -> None:
        """Take up the tasks that worked in an absolute directory, or below, and that no process runs any more."""
        kept, context = kept_requests(self._store), self._context()
        if kept is None or isinstance(context, Err) or not context.ok_value.attaching:
            return
        with anyio.CancelScope(shield=True):  # what is ours must run, or be settled
            orphans = self._orphans(directory, context.ok_value.attaching)
            taken = [await self._taken(task, context.ok_value, kept) for task in orphans]
            for task, planned in filter(None, taken):  # all at once: none asks for a request before all are known
                self._running.take_up(task, planned, context.ok_value, level=1, is_attached=bool(task.runs))

    def _orphans(self, directory: Path, backends: frozenset[str]) -> Iterator[Task]:
        listed = [one for status in ("running", "queued") for one in self._store.list(TaskQuery(status=status))]
        tasks = [one.ok_value for one in listed if isinstance(one, Ok)]
        for task_id in [one.id for one in sorted(tasks, key=lambda one: one.created_ms)]:  # each after what started it
            if self._running.get(task_id) is not None or not isinstance(found := self._store.get(task_id), Ok):
                continue
            task = found.ok_value
            launch = task.launch
            is_ours = launch is not None and launch.backend in backends and Path(launch.cwd).is_relative_to(directory)
            if is_ours and outlives_owner(task, now_ms=self._clock()) and not self._store.is_foreign(task_id):
                yield task

    async def _taken(self, read: Task, context: AdmissionContext, kept: KeptRequests) -> tuple[Task, Plan] | None:
        """Return a task that is ours now and goes on, and how; one that does not go on is settled."""
        planned = _planned(read, context)
        if isinstance(planned, Err) and not read.assignment.unkept:  # another configuration may know what this lacks
            return None
        events = tuple(_ends(read, planned, now_ms=self._clock()))
        task = read
        for event in events:
            task = apply(task, event, at_ms=max(self._clock(), task.updated_ms))
        is_ours = await kept.adopt(read, task, events)
        if not is_ours or isinstance(planned, Err) or task.is_terminal:
            return None
        for request in read.requests:
            self._requests.expect_again(request)
        return task, planned.ok_value


def _planned(task: Task, context: AdmissionContext) -> Result[Plan, OhmError]:
    """Plan how the open run of a task goes on, or the task where none has begun."""
    run = task.runs[-1] if task.runs else None
    prompt = task.assignment.prompt if run is None else run.prompt
    item = context.continuation(task, Send(id=task.id, prompt=prompt))
    planned = plan(item, context, prompt=prompt, caller=context.caller(), former=task)
    return Err(planned.err_value.error) if isinstance(planned, Err) else planned


def _ends(task: Task, planned: Result[Plan, OhmError], *, now_ms: int) -> Iterator[Event]:
    """Yield the events that end what does not go on: requests that are asked again, or the task itself."""
    for request in task.requests:
        yield AnswerGiven(request_id=request.id, answer=_ASKED_AGAIN, by="cancel")
    outcome = task.runs[-1].outcome if task.runs else None
    if outcome is not None:  # the process died before it could settle the task
        first = (run.outcome for run in reversed(task.runs) if not run.is_follow_up and run.outcome is not None)
        yield TaskSettled(outcome=next(first, outcome))
    elif isinstance(planned, Err):
        yield from recovered(task, now_ms=now_ms)[1]
