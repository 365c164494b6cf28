"""A task while it waits or runs."""

from __future__ import annotations

from contextvars import copy_context
from typing import TYPE_CHECKING

from ohm_subagents._orchestrator.call_context import CallContext
from ohm_subagents._orchestrator.queued_prompt import LazyEvent, QueuedPrompt
from ohm_subagents._orchestrator.run.inbox import TaskInbox
from ohm_subagents.contract.outcome import Cancelled

if TYPE_CHECKING:
    from anyio import TaskHandle

    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents._orchestrator.observe.tracing import TaskSpan
    from ohm_subagents._orchestrator.run.guard import RunGuard
    from ohm_subagents._orchestrator.run.task_record import TaskRecord
    from ohm_subagents.contract.task import Task


class LiveTask:
    """A task that is not over: its record, its inbox, and the work that drives it.

    Fields:
        record: what has happened.
        inbox: what it is asked.
        caller: the context of the call that started it.
        origin: the context variables of that call.
        label: the label of the backend that works now.
        children: the tasks that its subagent has started and that are not over.
        guard: watches the open run.
        span: its span, for a host that traces.
        ticket: its number in the run queue while it waits there.
        work: drives it, once its turn has come.
        settled: set once the task has settled.
    """

    __slots__ = (
        "caller",
        "children",
        "guard",
        "inbox",
        "label",
        "origin",
        "record",
        "settled",
        "span",
        "ticket",
        "work",
    )

    def __init__(self, record: TaskRecord, plan: Plan, *, caller: CallContext, span: TaskSpan | None = None) -> None:
        self.record = record
        self.inbox = TaskInbox(QueuedPrompt(plan.item.prompt, plan, preface=plan.item.preface), record)
        self.caller = caller
        self.origin = copy_context()
        self.span = span
        if span is not None:
            span.enter(self.origin)
        self.label = plan.label
        self.children: list[LiveTask] = []
        self.guard: RunGuard | None = None
        self.ticket: int | None = None
        self.work: TaskHandle[None] | None = None
        self.settled = LazyEvent()

    @property
    def task(self) -> Task:
        """The newest state."""
        return self.record.task

    @property
    def context(self) -> CallContext:
        """The context of what its subagent calls."""
        return CallContext(ledger=self.caller.ledger, task_id=self.task.id, level=self.caller.level + 1)

    @property
    def asked(self) -> QueuedPrompt:
        """The prompt that the task was started with."""
        return self.inbox.first

    def cancel(self, reason: str) -> None:
        """Settle the task as cancelled at once, and stop its run; what that still reports is ignored."""
        if not self.task.is_terminal:
            self.record.settle(Cancelled(reason=reason))
            self.stop()

    def stop(self) -> None:
        """End what still goes on for a task that is settled."""
        if self.work is not None:
            self.work.cancel()

    def release(self) -> None:
        """Wake everybody who waits for the task or for one of its prompts: it is settled."""
        self.settled.set()
        self.inbox.close()
