"""The tasks that run now."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from ohm_subagents._orchestrator.admission import refusals
from ohm_subagents._orchestrator.admission.new_tasks import continuing, new_task
from ohm_subagents._orchestrator.observe.observers import Observers
from ohm_subagents._orchestrator.refused_items import stored_refusal
from ohm_subagents._orchestrator.run.drive import Driver, Shared
from ohm_subagents._orchestrator.run.redaction import EventRedactor, redacted_task
from ohm_subagents._orchestrator.run.requests import kept_requests
from ohm_subagents._orchestrator.run.running_task import RunningTask, span_of
from ohm_subagents._orchestrator.run.task_record import TaskRecord
from ohm_subagents._orchestrator.run.timers import Timers
from ohm_subagents._orchestrator.run_queue import RunQueue
from ohm_subagents._orchestrator.taken_up_budgets import TakenUpBudgets
from ohm_subagents._plugins.stores import TaskQuery
from ohm_subagents._store.recovery import awaits_answer, may_go_on
from ohm_subagents.contract.replies import ItemRejected
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from contextlib import AbstractContextManager

    from anyio.abc import TaskGroup

    from ohm_subagents._orchestrator.admission.context import AdmissionContext
    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents._orchestrator.call_context import CallContext
    from ohm_subagents._orchestrator.observe.host_faults import HostFaults
    from ohm_subagents._orchestrator.observe.logger import Logger
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.ids import CallId, Clock, SessionId, TaskId
    from ohm_subagents.contract.task import Task


Admitted: TypeAlias = RunningTask | ItemRejected
"""The task of an item, or why there is none."""


class RunningTasks:
    """Gives admitted work an id, drives it in the owner's task group, and forgets it when it has ended."""

    def __init__(
        self,
        *,
        group: TaskGroup,
        store: Store,
        clock: Clock,
        new_id: Callable[[], Result[TaskId, OhmError]],
        logger: Logger,
        faults: HostFaults,
        shared: Shared,
    ) -> None:
        self._store = store
        self.clock = self._clock = clock
        self._new_id = new_id
        self._logger = logger
        self._faults = faults
        self._timers = Timers(group)
        driver = Driver(
            shared,
            timers=self._timers,
            without_slot=lambda live: self._queue.parked(live),  # noqa: PLW0108  the queue needs the driver first
        )
        self._queue = RunQueue(group, driver.drive)
        self._live: dict[TaskId, RunningTask] = {}
        self._budgets = TakenUpBudgets(store, self._live.get)
        self._watching: list[Observer] = []
        self._closed_for: str | None = None
        self.on_begin: Callable[[], None] = _nothing

    def limit(self, max_running: int | None) -> None:
        """Limit the tasks that run at once, over all calls; those that run already go on."""
        self._queue.limit(max_running)

    def get(self, task_id: TaskId) -> RunningTask | None:
        """Return the task while it waits or runs."""
        return self._live.get(task_id)

    @property
    def count(self) -> int:
        """The number of tasks that are not over."""
        return len(self._live)

    def is_awaited(self, task_id: TaskId) -> bool:
        """Return True while a call waits for a task: its reply will tell the end."""
        live = self._live.get(task_id)
        return live is not None and live.waiting_count > 0

    def below(self, parent: TaskId, call: CallId | None) -> CallContext | None:
        """Return the context of a call below a task; None unless that waits or runs."""
        live = self._live.get(parent)
        return None if live is None or live.task.is_terminal else live.context._replace(call=call)

    @contextmanager
    def watched(self, observer: Observer) -> Generator[None]:
        """Notify an observer of every event of all tasks while the context is open."""
        self._watching.append(observer)
        for live in self._live.values():
            live.record.observers.add(observer)
        try:
            yield
        finally:
            self._watching.remove(observer)
            for live in self._live.values():
                live.record.observers.remove(observer)

    def is_busy(self, session_id: SessionId) -> bool:
        """Return True if a task of the session waits or runs, here or in another process."""
        if any(live.task.session_id == session_id for live in self._live.values()):
            return True
        kept = self._store.list(TaskQuery(session=session_id))
        return any(isinstance(one, Ok) and not one.ok_value.is_terminal for one in kept)

    def position(self, task_id: TaskId) -> int | None:
        """Return the task's position in the queue, from 1; None if it does not wait."""
        live = self._live.get(task_id)
        return None if live is None else self._queue.position(live)

    def in_line(self, first: RunningTask, show: Callable[[], None]) -> AbstractContextManager[None]:
        """Call `show` now and whenever the position of `first` in the queue changes."""
        if first.ticket is None:
            return nullcontext()

        def moved() -> None:
            if first.ticket is not None:
                show()

        moved()
        return self._queue.followed(moved)

    def enrol(
        self,
        planned: Result[Plan, ItemRejected],
        observers: Sequence[Observer],
        caller: CallContext,
    ) -> Admitted:
        """Return the task of an item that was planned, or its refusal.

        The task continues `Plan.former`, and is below the task of `caller` if there is one. It is refused with
        `duplicate_task_id` if its id is taken, with `task_aborted` if the task that starts it was cancelled, and with
        the error of the budget that forbids it.
        """
        match planned:
            case Err(refused):
                return self._stored(refused)
            case Ok(plan):
                match self._new_task(plan, observers, caller):
                    case Err(error):
                        return self._stored(ItemRejected(item=plan.item, profile=plan.profile.id, error=error))
                    case Ok(live):
                        return live

    def _new_task(
        self, admitted: Plan, observers: Sequence[Observer], caller: CallContext
    ) -> Result[RunningTask, OhmError]:
        parent = None if caller.task_id is None else self._live.get(caller.task_id)
        if caller.task_id is not None and parent is None and self._is_cancelled(caller.task_id):
            return Err(refusals.starter_cancelled(caller.task_id))
        caller = caller.child(admitted.budget, owner=admitted.owner)
        if caller.ledger.counts_tokens_or_cost and not admitted.counts_usage:
            return Err(refusals.uncounted(admitted.backend))
        leave = caller.ledger.spawn(caller.level + 1)
        if leave is not None:
            return Err(leave)
        given = self._new_id()
        if isinstance(given, Err):
            return given
        task_id = given.ok_value
        if task_id in self._live:
            return Err(refusals.duplicate(task_id))
        task = new_task(task_id, admitted, self._clock(), caller)
        if admitted.former is not None:
            task = continuing(task, admitted.former)
        session = admitted.item.session
        if session is not None and session.resumes and session.checkpoint is not None:
            task = replace(task, activity=replace(task.activity, checkpoint=session.checkpoint))
        live = self._live_task(task, admitted, observers, caller)
        if parent is not None:
            self._adopt(parent, live)
        return Ok(live)

    def _live_task(self, task: Task, plan: Plan, observers: Sequence[Observer], caller: CallContext) -> RunningTask:
        """Return a task that is to run here, one below the level of `caller`, redacted if its item wants that."""
        item, redactor = plan.item, None
        if item.redaction is not None:
            is_kept = not item.is_one_shot or item.session is not None or plan.profile.finalize is not None
            redactor = EventRedactor(item.redaction, keeps_state=is_kept)
            task = redacted_task(task, item.redaction)
        span = span_of(task)
        followed = (*observers, *self._watching) if span is None else (*observers, *self._watching, span)
        notified = Observers(followed, self._logger, self._faults)
        record = TaskRecord(task, clock=self._clock, store=self._store, observers=notified, redactor=redactor)
        record.level = caller.level + 1
        record.ledger = caller.ledger if caller.ledger.limits(record.level) else None
        live = self._live[task.id] = RunningTask(record, plan, caller=caller, span=span)
        record.on_settled = lambda: self._forget(live)
        return live

    def _is_cancelled(self, task_id: TaskId) -> bool:
        found = self._store.get(task_id)
        return isinstance(found, Ok) and found.ok_value.status == "cancelled"

    def _stored(self, refused: ItemRejected) -> ItemRejected:
        return stored_refusal(refused, self._store, new_id=self._new_id, clock=self._clock)

    def take_up(
        self, task: Task, admitted: Plan, context: AdmissionContext, *, level: int, is_attached: bool = False
    ) -> None:
        """Run a task of the store on, which no process runs any more; `level` is how deep it is.

        `is_attached`: its open run goes on at the backend; else the prompt of the plan begins another.
        """
        above = self._live.get(task.assignment.parent or task.id)
        level = level if above is None else above.record.level + 1
        caller = self._budgets.caller(task, admitted, context.caller()._replace(level=level - 1))
        live = self._live_task(task, admitted, context.host.observers(), caller)
        caller.ledger.spend(live.record.take_up(), None)
        if above is not None:
            self._adopt(above, live)
        live.is_taken_up = task.assignment.outlives
        if is_attached:
            live.attach()
        if self._closed_for is None:
            self.begin([live], workers=1)
        else:
            live.end(self._closed_for)

    def begin(self, tasks: Sequence[RunningTask], *, workers: int) -> None:
        """Queue tasks, then run them in order, at most `workers` at once."""
        self.on_begin()
        self._queue.put(tasks, workers=workers)

    def close(self, reason: str, *, is_store_ours: bool, detaches: bool) -> None:
        """Cancel all tasks, and cut off follow-ups; the owner's task group then waits for them.

        Those that wait for an answer are left to whoever opens the store next, if that keeps requests and closes too;
        so are those that outlive this process, if it `detaches` or has taken them up.
        """
        self._timers.close()
        self._closed_for = reason
        if is_store_ours and kept_requests(self._store) is not None:
            for live in reversed(tuple(self._live.values())):  # from below: what ends, ends what it has started
                goes_on = may_go_on if detaches or live.is_taken_up else awaits_answer
                if goes_on(live.task, now_ms=self._clock()):
                    live.leave()
        for live in tuple(self._live.values()):
            live.end(reason)

    def _adopt(self, parent: RunningTask, child: RunningTask) -> None:
        """Pause the clocks of the parent, but its cap, while the child works; the child ends with it."""
        guard = parent.guard
        parent.children.append(child)
        parent.record.started.append(child.task.id)
        child.parent = parent
        child.record.above = parent.record
        parent.record.tell_remaining()

        def over() -> None:
            self._forget(child)
            parent.children.remove(child)
            if guard is not None:
                guard.resume()

        child.record.on_settled = over
        if guard is not None:
            guard.pause()

    def _forget(self, live: RunningTask) -> None:
        """Forget a task that has settled or is left."""
        del self._live[live.task.id]
        live.release()
        self._queue.leave(live)
        for child in tuple(live.children):
            child.end(f"Task {live.task.id}, which had started it, is over.")


def _nothing() -> None:
    """Do nothing."""
