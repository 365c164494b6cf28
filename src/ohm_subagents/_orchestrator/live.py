"""A task while it runs: its newest state, what drives it, and who waits for it."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import copy_context
from typing import TYPE_CHECKING

from ohm_subagents._orchestrator.queued_prompt import LazyEvent, QueuedPrompt
from ohm_subagents.contract.events import (
    Cancelled,
    FollowUpTaken,
    RouteResolved,
    RunEnded,
    TaskSettled,
    ToolEnded,
)
from ohm_subagents.contract.task import UNAVAILABLE, apply

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from anyio import TaskHandle

    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents._orchestrator.call_context import CallContext
    from ohm_subagents._orchestrator.guard import RunGuard
    from ohm_subagents._orchestrator.observe.observers import Observers
    from ohm_subagents._plugins.interfaces import RunOutput
    from ohm_subagents._store.protocol import Store
    from ohm_subagents.contract.events import Event, Outcome
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.contract.task import Task


class LiveTask:
    """The only writer of a task: every event goes apply → store → observers, in that order and at once.

    `work` is what drives the task, once its turn has come. `asked` is its first prompt, and `outcome` what became of
    that, once it is known. `attempt` is the number of the run from which on the backend remembers: the newest attempt
    at its prompt.
    """

    __slots__ = (
        *("_clock", "_finish", "_steer", "_store", "_taken", "asked", "attempt", "observers", "children", "current"),
        *("guard", "inbox", "item", "label", "outcome"),
        *("caller", "on_settled", "origin", "settled", "task", "ticket", "work"),
    )

    def __init__(
        self, task: Task, plan: Plan, *, clock: Clock, store: Store, observers: Observers, caller: CallContext
    ) -> None:
        self.task = task
        self.item = plan.item
        self.label = plan.label
        self.caller = caller
        self.origin = copy_context()
        self.ticket: int | None = None
        self.on_settled: Callable[[], None] = lambda: None
        self.children: list[LiveTask] = []
        self.guard: RunGuard | None = None
        self.asked = QueuedPrompt(plan.item.prompt, plan, preface=plan.item.preface)
        self.inbox = [self.asked]
        self.current: QueuedPrompt | None = None
        self.attempt = 0
        self.outcome: Outcome | None = None
        self._taken: list[QueuedPrompt] = []
        self._steer: Callable[[str], bool] | None = None
        self._finish: Callable[[str], bool] | None = None
        self.settled = LazyEvent()
        self.work: TaskHandle[None] | None = None
        self._clock = clock
        self._store = store
        self.observers = observers

    def send(self, prompt: str, plan: Plan) -> QueuedPrompt:
        """Offer a follow-up to the run that goes on; what it does not take becomes a run after those that wait."""
        message = QueuedPrompt(prompt, plan, is_follow_up=True)
        if self.inbox or not self._steered(message):
            self.inbox.append(message)
        return message

    @contextmanager
    def steered_by(self, steer: Callable[[str], bool], finish: Callable[[str], bool] | None = None) -> Generator[None]:
        """Let the open run take follow-ups, those that wait already first (`Inbox`)."""
        self._steer, self._finish = steer, finish
        self._tell_guard()
        while self.inbox and self._steered(self.inbox[0]):
            self.inbox.pop(0)
        try:
            yield
        finally:
            self._steer = self._finish = None
            self._tell_guard()

    def _tell_guard(self) -> None:
        if self.guard is not None:
            self.guard.can_finish(able=self._finish is not None)

    def nudge(self, text: str) -> bool:
        """A word of the engine to the model; whether the run has taken it."""
        return self._steer is not None and self._steer(text)

    def finish(self, text: str) -> bool:
        """Ask the open run to answer now, once; whether it has taken that."""
        finish, self._finish = self._finish, None
        return finish is not None and finish(text)

    def _steered(self, message: QueuedPrompt) -> bool:
        """Whether the open run has taken the message; only a run of the same backend may."""
        if self._steer is None or self.current is None or message.plan.backend != self.current.plan.backend:
            return False
        if not self._steer(message.text):
            return False
        self._taken.append(message)
        self.record(FollowUpTaken(prompt=message.text))
        return True

    def take(self) -> QueuedPrompt | None:
        """The next message becomes a run; None when there is nothing more to do."""
        self.current = self.inbox.pop(0) if self.inbox else None
        return self.current

    def correct(self, message: QueuedPrompt, text: str) -> None:
        """Run a prompt that asks for the missing answer before anything else; its run answers `message` as well."""
        self._taken.append(message)
        self.inbox.insert(0, message.correction(text))

    def is_taken(self, message: QueuedPrompt) -> bool:
        """Whether a run has it, so that it cannot be withdrawn without stopping that run."""
        return message in self._taken

    def withdraw(self, message: QueuedPrompt) -> None:
        """Nobody waits for the answer any more: forget the message, or stop the run that has taken it."""
        if message in self.inbox:
            self.inbox.remove(message)
        if message.scope is not None:
            message.scope.cancel()

    def answer(self, message: QueuedPrompt) -> None:
        """The run of the message has ended, and with it every follow-up that it took."""
        for each in (message, *self._taken):
            each.run = self.task.runs[-1]
            each.began, each.ended = each.began or message.began, self.task
            each.is_followed = bool(self.inbox) and not self.task.is_terminal
            each.answered.set()
        self._taken.clear()

    def record(self, event: Event) -> None:
        """Apply one event; nothing happens once the task has settled."""
        before = self.task
        self.task = apply(before, event, at_ms=max(self._clock(), before.updated_ms))  # a clock may be set back
        if self.task is before:
            return
        self._store.save(self.task, event)
        self.observers.notify(self.task, event)
        if self.task.is_terminal:
            self.settled.set()
            self.on_settled()
            if self.current is not None and self.task.runs:
                self.answer(self.current)
            for message in self.inbox:
                message.answered.set()

    def end_run(self, outcome: Outcome, output: RunOutput | None = None) -> None:
        """Close a run that its backend ended."""
        if output is None:
            self.record(RunEnded(outcome=outcome))
            return
        self.record(RunEnded(outcome=outcome, output=output.text, summary=output.summary, exit_code=output.exit_code))

    def moved_to(self, label: str) -> None:
        """Another backend works from now on: nothing is known of who does, until it tells."""
        self.label = label
        self.record(RouteResolved(provider=UNAVAILABLE, model=UNAVAILABLE, runtime=label, route=label))

    def begin_again(self) -> None:
        """The next run is another attempt at the prompt, and knows nothing of the one before."""
        self.attempt = len(self.task.runs)

    def close_calls(self) -> None:
        """The run was cut off: nobody else will say how the tool calls ended that it left open."""
        for call in self.task.activity.open_calls:
            self.record(ToolEnded(call_id=call.call_id, tool=call.tool, status="interrupted", text="interrupted"))

    def cut_run(self, outcome: Outcome) -> None:
        """Close a run that was cut off."""
        self.close_calls()
        self.end_run(outcome)

    def abandon(self, outcome: Outcome) -> None:
        """End the task although its run goes on; nobody hears it any more. The first prompt decides about the task."""
        if not self.task.is_terminal:
            self.cut_run(outcome)
            self.record(TaskSettled(outcome=self.outcome or outcome))

    def settle(self, outcome: Outcome) -> None:
        """End the task, and the run that is still open, if any."""
        if self.task.is_terminal:
            return
        if self.task.runs and self.task.runs[-1].outcome is None:
            self.cut_run(outcome)
        self.record(TaskSettled(outcome=outcome))

    def told(self, text: str) -> str:
        """A text as it may be told of; whatever is to be cut goes through this before."""
        return text

    def log_crash(self, error: BaseException) -> None:
        """A backend broke its law: the host should see the traceback, the caller only the message."""
        self.observers.logger.error(
            "backend.raised", task_id=self.task.id, backend=self.task.assignment.backend, exc_info=error
        )

    def cancel(self, reason: str) -> None:
        """Cancelled on the record at once; the backend is told, and whatever it still says is ignored."""
        if not self.task.is_terminal:
            self.settle(Cancelled(reason=reason))
            self.stop()

    def stop(self) -> None:
        """The task is settled: end what still goes on for it."""
        if self.work is not None:
            self.work.cancel()
