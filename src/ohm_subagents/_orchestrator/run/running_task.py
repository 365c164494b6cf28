"""A task while it waits or runs."""

from __future__ import annotations

import sys
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from weakref import ref

from ohm_subagents._orchestrator.call_context import CallContext
from ohm_subagents._orchestrator.queued_prompt import LazyEvent, QueuedPrompt
from ohm_subagents._orchestrator.run.budget_notices import BudgetNotices
from ohm_subagents._orchestrator.run.inbox import TaskInbox
from ohm_subagents.contract.model_pattern import ModelPattern
from ohm_subagents.contract.outcome import Cancelled
from ohm_subagents.contract.task import UNAVAILABLE

if TYPE_CHECKING:
    from anyio import TaskHandle

    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents._orchestrator.observe.tracing import TaskSpan
    from ohm_subagents._orchestrator.run.guard import RunGuard
    from ohm_subagents._orchestrator.run.task_record import TaskRecord
    from ohm_subagents.contract.outcome import Outcome
    from ohm_subagents.contract.task import Task


def _model_of(live: ref[RunningTask]) -> ModelPattern | None:
    """Return the model of a task that is not over; None where that is not known."""
    found = live()
    return None if found is None else found.model()


def span_of(task: Task) -> TaskSpan | None:
    """Return the span of a task, for a host that traces: one that has set a tracer provider has imported the SDK."""
    if "opentelemetry.sdk" not in sys.modules:
        return None
    from ohm_subagents._orchestrator.observe.tracing import task_span  # noqa: PLC0415  imports opentelemetry

    return task_span(task)


class RunningTask:
    """A task that is not over: its record, its inbox, and the work that drives it.

    Fields:
        record: what has happened.
        inbox: what it is asked.
        caller: the context of the call that started it.
        origin: the context variables of that call.
        label: the label of the backend that works now.
        clone: the clone that its run works in, of its own or of the task that has started it; None for no clone.
        parent: the task that has started it, if that runs here.
        is_taken_up: another process has started it, and its backend would go on without this one.
        children: the tasks that its subagent has started and that are not over.
        guard: watches the open run.
        span: its span, for a host that traces.
        ticket: its number in the run queue while it waits there.
        work: drives it, once its turn has come.
        settled: set once the task has settled, or is left to another process.
        waiting_count: the calls that wait for it.
        parked_count: the requests of its run that wait for an answer.
    """

    __slots__ = (
        "__weakref__",
        "caller",
        "children",
        "clone",
        "guard",
        "inbox",
        "is_taken_up",
        "label",
        "origin",
        "parent",
        "parked_count",
        "record",
        "settled",
        "span",
        "ticket",
        "waiting_count",
        "work",
    )

    def __init__(self, record: TaskRecord, plan: Plan, *, caller: CallContext, span: TaskSpan | None = None) -> None:
        self.record = record
        self.inbox = TaskInbox(QueuedPrompt(plan.item.prompt, plan, preface=plan.item.preface), record)
        if record.ledger is not None:
            self.inbox.notices = BudgetNotices(record.ledger, record)
        self.caller = caller
        self.origin = copy_context()
        self.span = span
        if span is not None:
            span.enter(self.origin)
        self.label = plan.label
        self.clone = caller.clone
        self.is_taken_up = False
        self.children: list[RunningTask] = []
        self.parent: RunningTask | None = None
        self.guard: RunGuard | None = None
        self.ticket: int | None = None
        self.work: TaskHandle[None] | None = None
        self.settled = LazyEvent()
        self.waiting_count = 0
        self.parked_count = 0

    @property
    def task(self) -> Task:
        """The newest state."""
        return self.record.task

    @property
    def context(self) -> CallContext:
        """The context of what its subagent calls, which may outlive the task: it keeps none of its texts."""
        plan = (self.inbox.current or self.asked).plan
        return CallContext(
            ledger=self.caller.ledger,
            task_id=self.task.id,
            level=self.caller.level + 1,
            model=partial(_model_of, ref(self)),
            passes=plan.spec.passes,
            clone=self.clone,
            sandbox=plan.spec.sandbox.mode,
        )

    def model(self) -> ModelPattern | None:
        """Return the model that works on the task; None where that is not known."""
        route, plan = self.task.route, self.asked.plan
        if UNAVAILABLE in {route.provider, route.model}:
            return plan.spec.model
        known = () if plan.route is None else plan.route.models
        found = ModelPattern(provider=route.provider.lower(), model=route.model)
        asked = (one for one in (*known, plan.spec.model) if one is not None and replace(one, thinking=None) == found)
        return next(asked, found)

    @property
    def asked(self) -> QueuedPrompt:
        """The prompt that the task was started with."""
        return self.inbox.first

    @property
    def is_idle(self) -> bool:
        """Return True if the run waits for an answer, or for nothing but tasks below that do.

        Each of its open tool calls is taken to wait for a task, as far as there are enough that something waits for.
        """
        if self.parked_count:
            return True
        awaited = sum(one.waiting_count > 0 for one in self.children)
        is_waiting = awaited > 0 and len(self.task.activity.open_calls) <= awaited
        return is_waiting and all(one.is_idle for one in self.children)

    def attach(self) -> None:
        """Let its prompt go on with the run that is open, whose backend has outlived the process that began it."""
        self.record.on_caught_up = self.caller.ledger.expect()
        *earlier, run = self.task.runs
        self.asked.is_attached, self.asked.is_follow_up = True, run.is_follow_up
        if run.is_follow_up:  # the outcome of the task is that of its own prompt
            self.asked.outcome = next((one.outcome for one in reversed(earlier) if not one.is_follow_up), None)

    def cancel(self, reason: str) -> None:
        """Settle the task as cancelled at once, and stop its run; what that still reports is ignored."""
        self._cut(cancelled := Cancelled(reason=reason), settled=cancelled)

    def end(self, reason: str) -> None:
        """Cut off a task that nobody waits for: once its own prompt is answered, that decides what it came to."""
        cancelled = Cancelled(reason=reason)
        self._cut(cancelled, settled=self.asked.outcome or cancelled)

    def _cut(self, outcome: Outcome, *, settled: Outcome) -> None:
        if not self.task.is_terminal:
            if self.guard is not None:
                self.guard.gate.cut()
            self.record.abandon(outcome, settled=settled)
            self.stop()

    def leave(self) -> None:
        """Leave the task to another process as it is, and stop its run."""
        if self.guard is not None and not self.task.assignment.outlives:  # else its request goes on
            self.guard.gate.cut()
        self.record.leave()
        self.stop()

    def stop(self) -> None:
        """End what still goes on for a task that is settled or left."""
        if self.work is not None:
            self.work.cancel()

    def release(self) -> None:
        """Wake everybody who waits for the task or for one of its prompts: it is settled or left."""
        self.settled.set()
        self.inbox.close()
