"""The watcher of one run: clocks, loops, budgets. It warns, asks to finish, and in the end stops the run."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._concurrency.leavable_group import GRACE_S
from ohm_subagents._concurrency.shared_resource import READY_WITHIN_S
from ohm_subagents._orchestrator.run.deadlines import Deadlines
from ohm_subagents._orchestrator.run.gate import RequestGate
from ohm_subagents._orchestrator.run.loops import LoopWatch, Trip, went_in_circles
from ohm_subagents._orchestrator.run.time_out import timed_out
from ohm_subagents._plugins.backends.interface import Capability
from ohm_subagents._plugins.backends.preparation import not_ready
from ohm_subagents.contract.events import (
    AgentEnded,
    Checkpointed,
    DiagnosticRaised,
    FileChanged,
    Finalized,
    GuardTripped,
    RequestReleased,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    UsageAdded,
)
from ohm_subagents.contract.model_route import RouteResolved
from ohm_subagents.contract.outcome import Failed
from ohm_subagents.contract.profile import FINALIZE
from ohm_subagents.contract.usage import ONE_TOOL_CALL
from ohm_subagents.contract.workspace import WorkspaceKept

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents._orchestrator.ledger import Ledger
    from ohm_subagents._orchestrator.queued_prompt import QueuedPrompt
    from ohm_subagents._orchestrator.run.approvals import Approvals
    from ohm_subagents._orchestrator.run.inbox import TaskInbox
    from ohm_subagents._orchestrator.run.task_record import TaskRecord
    from ohm_subagents._orchestrator.run.throttle import Throttle
    from ohm_subagents._orchestrator.run.timers import Slot, Timers
    from ohm_subagents._orchestrator.spending import BudgetExceeded
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.events import Guard, RequestHeld, RunEvent
    from ohm_subagents.contract.limits import LoopStep

_SO_FAR: Final = "with what you have found so far: say what is done, what is missing, and where to go on."
FINISH: Final = f"Answer now {_SO_FAR} There are no tools any more."
HAND_IN: Final = f"Call {FINALIZE} now {_SO_FAR} There is no other tool any more."

REFUSED: Final = "refused"


class RunGuard:
    """Watches one run by its events, and is the timer of its clocks (`Timer`).

    When it stops the run, `error` is set and `scope` is cancelled (withdrawing the prompt does that too). A run that is
    still there after `GRACE_S` is left to itself, and its task ends all the same.

    Fields:
        scope: cancels the run.
        error: why the run was stopped.
        gate: for the backend's model requests, its tool calls and the questions of the subagent.
        ignores_output: the run went in circles, and nothing that it still says counts.
    """

    def __init__(
        self,
        prompt: QueuedPrompt,
        *,
        record: TaskRecord,
        inbox: TaskInbox,
        ledger: Ledger,
        timers: Timers,
        throttle: Throttle,
        approvals: Callable[[], Approvals],
    ) -> None:
        self.scope = prompt.scope = anyio.CancelScope()
        self.error: OhmError | None = None
        self.gate = RequestGate(ledger, throttle, record, approvals, hold=self._hold, release=self._release)
        self.ignores_output = False
        self.slot: Slot | None = None
        self._plan = prompt.plan
        self._record = record
        self._inbox = inbox
        self._ledger = ledger
        self._timers = timers
        self._deadlines = Deadlines(prompt.plan.limits)
        self._loops = LoopWatch(prompt.plan.launch.loop)
        self._is_held = False
        self._is_over = False
        self._given_up_at = math.inf

    # Around the run

    def begin(self) -> OhmError | None:
        """Reserve what the run takes at least, or return why it may not begin."""
        refused = self.gate.open()
        if refused is None:
            self._timers.join()
        return refused

    def prepare(self) -> None:
        """Bound the wait for the backend: one that takes too long, and cannot be cancelled, is left to itself."""
        self._given_up_at = self._timers.now() + READY_WITHIN_S + GRACE_S
        self._timers.set(self)

    def start(self) -> None:
        """Start the clocks: all is there that the run needs."""
        now = self._timers.now()
        if self.error is None:
            self._given_up_at = math.inf
        self._deadlines.begin(now, wall_at=self._ledger.begin(now, self._record.clock))
        if self._record.ledger is not None:
            self._record.tell_remaining()
        self._inbox.on_finishable = self._set_finishable
        self._timers.set(self)

    def end(self, *, is_counted: bool) -> None:
        """Stop the clocks and give back what was reserved."""
        self._is_over = True
        self._inbox.on_finishable = None
        self._timers.leave(self)
        self.gate.close(is_counted=is_counted)
        if self._record.task.activity.calls and Capability.IN_PROCESS not in self._plan.capabilities:
            self._ledger.spend(self._record.charge_other_processes(), None)
        if self._ledger.limits_use:
            self._record.tell_remaining()
        del self.gate  # the gate refers back to this guard; break the cycle, so that both are freed with the run

    def _set_finishable(self, able: bool) -> None:  # noqa: FBT001  the only argument of a callback
        self._deadlines.can_finish = able
        self._timers.set(self)

    # Events

    def on_event(self, event: RunEvent) -> None:
        """Act on an event of the run, after it was recorded."""
        now = self._timers.now()
        match event:
            case TextDelta() | ThinkingDelta():
                self.gate.answered()
                self._progress(now, is_piece=True)
            case ToolStarted(call_id=call_id, tool=tool, args=args):
                self.gate.answered()
                self._deadlines.call_started(call_id, now)
                self._timers.set(self)
                self._obey(self._loops.called(tool, args))
                if tool != FINALIZE:  # handing in the answer is not work that a budget is for
                    self._charged(self._ledger.call_tool())
                    if self._inbox.notices is not None:
                        self._inbox.notices.tell(self._inbox.steer, is_gated=self.gate.is_asked)
            case ToolEnded(call_id=call_id, tool=tool, text=text, status=status):
                self._deadlines.call_ended(call_id, now)
                self._timers.set(self)
                refused = tool == FINALIZE and status == "error"  # one answer is refused for many reasons
                self._obey(self._loops.answered(tool, REFUSED if refused else text))
            case UsageAdded(usage=usage):
                self._progress(now)
                self._charged(self.gate.used(usage))
            case RouteResolved() | DiagnosticRaised() | Checkpointed() | WorkspaceKept():
                pass  # the engine's own doing, or the backend's; the model has said nothing by them
            case ToolUpdated():
                self._progress(now, is_piece=True)
            case Finalized() | FileChanged() | AgentEnded():
                self._progress(now)

    def ignores(self, event: RunEvent) -> bool:
        """Return True for more of what the run was stopped for; how its open calls end still counts."""
        if not self.ignores_output:
            return False
        if isinstance(event, ToolUpdated | ToolEnded):
            return all(call.call_id != event.call_id for call in self._record.task.activity.open_calls)
        return isinstance(event, TextDelta | ThinkingDelta | ToolStarted)

    def _progress(self, now: float, *, is_piece: bool = False) -> None:
        first = self._deadlines.is_silent
        self._deadlines.progress(now, is_piece=is_piece)
        if first:
            self._timers.set(self)

    # Time

    @property
    def due_at(self) -> float:
        """Return the time at which the next clock runs out, or the run is to be asked to finish."""
        if self._is_over:
            return math.inf
        return min(self._deadlines.next().at, self._given_up_at) if self.error is None else self._given_up_at

    def fire(self) -> None:
        """Stop the run, or ask it to finish."""
        if self._given_up_at <= self._timers.now():  # the backend does not let itself be cancelled
            self._is_over = True
            self.gate.cut()
            error = self.error or not_ready(self._plan.backend)
            outcome = Failed(error=replace(error, task_id=self._record.task.id))
            self._record.abandon(outcome, settled=self._inbox.first.outcome or outcome)
            return
        due = self._deadlines.next()
        if due.step == "finish":
            self._deadlines.can_finish = False
            self._finish(due.clock, "Time is nearly up.")
        elif due.clock == "wall":
            self._check(self._ledger.out_of_time())
        else:
            self._stop(due.clock, timed_out(self._record.task, self._plan.limits, due.clock))

    # Steps

    def _obey(self, trip: Trip | None) -> None:
        match trip:
            case None:
                pass
            case Trip(step="warn", message=message):
                self._trip("loop", "warn", message)
                self._inbox.steer(f"{message} Repeating it will not help: try another way, or answer.")
            case Trip(step="finish", message=message):
                self._finish("loop", message)
            case Trip(message=message):
                error = went_in_circles(message, self._plan.item)
                self._stop("loop", error)
                self.ignores_output = self.error is error

    def mismatched(self, error: OhmError) -> None:
        """Stop the run: another model answers than the one that was asked for."""
        self._stop("model", error)

    def charge_ignored_call(self) -> None:
        """Charge a tool call that is not shown any more, but was made."""
        self._record.add(UsageAdded(usage=ONE_TOOL_CALL))
        self._charged(self._ledger.call_tool())

    def _charged(self, exceeded: BudgetExceeded | None) -> None:
        if self._ledger.limits_use:
            self._record.tell_remaining()
        self._check(exceeded)

    def _check(self, exceeded: BudgetExceeded | None) -> None:
        if exceeded is not None:
            self._stop(exceeded.guard, exceeded.error)

    def _finish(self, guard: Guard, why: str) -> None:
        if self._inbox.finish(f"{why} {HAND_IN if self._plan.profile.finalize else FINISH}"):
            self._trip(guard, "finish", f"{why} The subagent was asked to answer now.")

    def _stop(self, guard: Guard, error: OhmError) -> None:
        if self.error is None and not self._is_over:
            self.error = error
            self._trip(guard, "stop", error.message)
            self.scope.cancel()
            self._given_up_at = self._timers.now() + GRACE_S
            self._timers.set(self)

    def _trip(self, guard: Guard, step: LoopStep, message: str) -> None:
        self._record.add(GuardTripped(guard=guard, step=step, message=message))

    # Waiting that does not count

    def pause(self, *, entirely: bool = False) -> None:
        """Stop the clocks but the cap, as for a task that the run has started; `entirely`: the cap too."""
        (self._deadlines.park if entirely else self._deadlines.hold)(self._timers.now())

    def resume(self, *, entirely: bool = False) -> None:
        """Let the clocks go on that `pause` has stopped."""
        (self._deadlines.unpark if entirely else self._deadlines.release)(self._timers.now())
        self._timers.set(self)

    def _hold(self, held: RequestHeld) -> None:
        if not self._is_held:
            self._is_held = True
            self.pause()
            self._record.add(held)

    def _release(self) -> None:
        if self._is_held:
            self._is_held = False
            self.resume()
            self._record.add(RequestReleased())
