"""The record of one task: its newest state, and the only place that changes it."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from ohm_subagents.contract.events import RouteResolved, RunEnded, TaskSettled, ToolEnded
from ohm_subagents.contract.task import UNAVAILABLE, apply

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents._orchestrator.observe.observers import Observers
    from ohm_subagents._orchestrator.run.redaction import EventRedactor
    from ohm_subagents._plugins.backends.interface import RunOutput
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.contract.outcome import Outcome
    from ohm_subagents.contract.task import Task


class TaskRecord:
    """The only writer of a task: each event goes apply → store → observers, in that order and at once.

    Fields:
        task: the newest state.
        observers: notified of every event.
        on_settled: called once, after the event that settles the task.
    """

    __slots__ = ("_clock", "_redactor", "_store", "observers", "on_settled", "task")

    def __init__(
        self, task: Task, *, clock: Clock, store: Store, observers: Observers, redactor: EventRedactor | None
    ) -> None:
        self.task = task
        self.observers = observers
        self.on_settled: Callable[[], None] = _nothing
        self._clock = clock
        self._store = store
        self._redactor = redactor

    def add(self, event: Event) -> None:
        """Apply one event, without the secrets of a redacted task; nothing happens once the task has settled."""
        for each in (event,) if self._redactor is None else self._redactor.events(event):
            before = self.task
            self.task = task = apply(before, each, at_ms=max(self._clock(), before.updated_ms))  # it may be set back
            if task is before:
                continue
            self._store.save(task, each)
            self.observers.notify(task, each)
            if isinstance(each, TaskSettled):
                on_settled, self.on_settled = self.on_settled, _nothing  # break the cycle: both are freed at once
                on_settled()

    def redact(self, text: str) -> str:
        """Return the text as it may be shown; whatever is cut goes through this before."""
        return text if self._redactor is None else self._redactor.text(text)

    def reroute(self, label: str) -> None:
        """Record that another backend works from now on, whose model is unknown until it reports one."""
        self.add(RouteResolved(provider=UNAVAILABLE, model=UNAVAILABLE, runtime=label, route=label))

    def end_run(self, outcome: Outcome, output: RunOutput | None = None) -> None:
        """Close a run that its backend ended."""
        if output is None:
            self.add(RunEnded(outcome=outcome))
            return
        self.add(RunEnded(outcome=outcome, output=output.text, summary=output.summary, exit_code=output.exit_code))

    def close_calls(self) -> None:
        """Close the tool calls that a run left open when it was cut off."""
        for call in self.task.activity.open_calls:
            self.add(ToolEnded(call_id=call.call_id, tool=call.tool, status="interrupted", text="interrupted"))

    def cut_run(self, outcome: Outcome) -> None:
        """Close a run that was cut off."""
        self.close_calls()
        self.end_run(outcome)

    def abandon(self, outcome: Outcome, *, settled: Outcome) -> None:
        """End the task although its run goes on; nothing that the run still reports counts."""
        if not self.task.is_terminal:
            self.cut_run(outcome)
            self.add(TaskSettled(outcome=settled))

    def settle(self, outcome: Outcome) -> None:
        """End the task, and the run that is still open, if any."""
        if self.task.is_terminal:
            return
        if self.task.runs and self.task.runs[-1].outcome is None:
            self.cut_run(outcome)
        self.add(TaskSettled(outcome=outcome))

    def log_crash(self, error: BaseException) -> None:
        """Log the traceback of a backend that raised; the caller gets the message only."""
        logger, task = self.observers.logger, self.task
        if self._redactor is None:
            logger.error("backend.raised", task_id=task.id, backend=task.assignment.backend, exc_info=error)
            return
        shown = self._redactor.text("".join(traceback.format_exception(error)))
        logger.error("backend.raised", task_id=task.id, backend=task.assignment.backend, traceback=shown)


def _nothing() -> None:
    """Leave it at that."""
