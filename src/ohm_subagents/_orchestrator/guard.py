"""What watches one run: four clocks, the loop guard, the budgets. It warns, asks to finish, and in the end stops it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._orchestrator.deadlines import Deadlines
from ohm_subagents._orchestrator.loops import LoopWatch, Trip
from ohm_subagents._orchestrator.request_gate import RequestGate
from ohm_subagents._plugins.leavable import GRACE_S
from ohm_subagents._plugins.preparation import READY_WITHIN_S, not_ready
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.events import (
    AgentEnded,
    Checkpointed,
    DiagnosticRaised,
    Failed,
    FileChanged,
    Finalized,
    GuardTripped,
    RequestReleased,
    RouteResolved,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    UsageAdded,
)
from ohm_subagents.contract.finalization import FINALIZE

if TYPE_CHECKING:
    from ohm_subagents._orchestrator.alarm import Alarm, Entry
    from ohm_subagents._orchestrator.live import LiveTask
    from ohm_subagents._orchestrator.purse import Spent
    from ohm_subagents._orchestrator.queued_prompt import QueuedPrompt
    from ohm_subagents._orchestrator.throttle import Throttle
    from ohm_subagents.contract.events import Guard, RequestHeld, RunEvent
    from ohm_subagents.contract.limits import ClockName, LoopStep

_SO_FAR: Final = "with what you have found so far: say what is done, what is missing, and where to go on."
FINISH: Final = f"Answer now {_SO_FAR} There are no tools any more."
HAND_IN: Final = f"Call {FINALIZE} now {_SO_FAR} There is no other tool any more."

REFUSED: Final = "refused"


class RunGuard:
    """Hears every event of one run.

    When it stops the run, `error` says why and `scope` is cancelled (whoever withdraws the message does that too); a
    run that is still there after `GRACE_S` is left to itself, and its task is over all the same. `is_deaf`: it went in
    circles, and nothing that it still says counts (000).
    """

    def __init__(self, live: LiveTask, message: QueuedPrompt, *, alarm: Alarm, throttle: Throttle) -> None:
        plan, account = message.plan, live.caller.account
        self.scope = message.scope = anyio.CancelScope()
        self.error: OhmError | None = None
        self.alarm: Entry | None = None
        self._live = live
        self._plan = plan
        self._account = account
        self._alarm = alarm
        self.gate = RequestGate(self, account, throttle)
        self._deadlines = Deadlines(plan.limits)
        self._loops = LoopWatch(plan.loop)
        self._waits = False
        self._is_over = False
        self.is_deaf = False
        self._given_up_at = math.inf

    # Around the run

    def begin(self) -> OhmError | None:
        """Set aside what the run takes at least, or say why it may not begin."""
        spent = self.gate.open()
        if spent is not None:
            self.refused(spent)
            return spent.error
        self._alarm.join()
        return None

    def prepare(self) -> None:
        """The run waits for its backend: one that takes longer than it may, and cannot be cancelled, is given up."""
        self._given_up_at = anyio.current_time() + READY_WITHIN_S + GRACE_S
        self._alarm.set(self)

    def start(self) -> None:
        """All is there that the run needs: start the clocks."""
        now = anyio.current_time()
        if self.error is None:
            self._given_up_at = math.inf
        self._deadlines.begin(now, wall_at=self._account.begin(now))
        self._live.guard = self
        self._alarm.set(self)

    def end(self, *, is_counted: bool) -> None:
        """The run is over: stop the clocks and give back what was reserved."""
        self._is_over = True
        self._alarm.leave(self)
        self.gate.close(is_counted=is_counted)
        del self.gate  # it knows its guard: without the circle both are gone with the run

    def can_finish(self, *, able: bool) -> None:
        """Whether the backend takes the wish to finish from now on."""
        self._deadlines.can_finish = able
        self._alarm.set(self)

    # Events

    def heard(self, event: RunEvent) -> None:
        """An event of the run, after it was recorded."""
        now = anyio.current_time()
        match event:
            case TextDelta() | ThinkingDelta():
                self.gate.answered()
                self._progress(now, is_piece=True)
            case ToolStarted(call_id=call_id, tool=tool, args=args):
                self.gate.answered()
                self._deadlines.call_started(call_id, now)
                self._alarm.set(self)
                self._obey(self._loops.called(tool, args))
                if tool != FINALIZE:  # handing in the answer is not work that a budget is for
                    self._check(self._account.call_tool())
            case ToolEnded(call_id=call_id, tool=tool, text=text, status=status):
                self._deadlines.call_ended(call_id, now)
                self._alarm.set(self)
                refused = tool == FINALIZE and status == "error"  # one answer is refused for many reasons
                self._obey(self._loops.answered(tool, REFUSED if refused else text))
            case UsageAdded(usage=usage):
                self._progress(now)
                self._check(self.gate.used(usage))
            case RouteResolved() | DiagnosticRaised() | Checkpointed():
                pass  # the engine's own doing, or the backend's; the model has said nothing by them
            case ToolUpdated():
                self._progress(now, is_piece=True)
            case Finalized() | FileChanged() | AgentEnded():
                self._progress(now)

    def ignores(self, event: RunEvent) -> bool:
        """Whether the event is more of what the run was stopped for; how its open calls end is not."""
        if not self.is_deaf:
            return False
        if isinstance(event, ToolUpdated | ToolEnded):
            return all(call.call_id != event.call_id for call in self._live.task.activity.open_calls)
        return isinstance(event, TextDelta | ThinkingDelta | ToolStarted)

    def _progress(self, now: float, *, is_piece: bool = False) -> None:
        first = self._deadlines.is_silent
        self._deadlines.progress(now, is_piece=is_piece)
        if first:
            self._alarm.set(self)

    # The alarm

    @property
    def wakes_at(self) -> float:
        """When the next clock runs out, or its finish is due."""
        if self._is_over:
            return math.inf
        return min(self._deadlines.next().at, self._given_up_at) if self.error is None else self._given_up_at

    def wake(self) -> None:
        """A clock ran out, or is about to."""
        if self._given_up_at <= anyio.current_time():  # the backend does not let itself be cancelled
            self._is_over = True
            error = self.error or not_ready(self._plan.backend)
            self._live.abandon(Failed(error=replace(error, task_id=self._live.task.id)))
            return
        ring = self._deadlines.next()
        if ring.step == "finish":
            self._deadlines.can_finish = False
            self._finish(ring.clock, "Time is nearly up.")
        elif ring.clock == "wall":
            self._check(self._account.out_of_time())
        else:
            self._stop(ring.clock, self._timed_out(ring.clock))

    def _timed_out(self, clock: ClockName) -> OhmError:
        limits, task = self._plan.limits, self._live.task
        in_flight = task.activity.open_calls[0].tool if task.activity.open_calls else "?"
        facts: dict[ClockName, tuple[int, str]] = {
            "soft": (limits.soft_ms, f"Task {task.id} timed out while waiting for subagent backend response"),
            "cap": (limits.cap_ms, f"Task {task.id} took longer than its cap of {limits.cap_ms} ms."),
            "idle": (limits.idle_ms, f"Task {task.id} heard nothing from the model for {limits.idle_ms} ms."),
            "tool": (
                limits.tool_ms,
                f"Task {task.id} had a call of the tool {in_flight} in flight for {limits.tool_ms} ms.",
            ),
        }
        limit_ms, fact = facts[clock]
        if clock == "soft" or (clock == "cap" and limits.cap_ms == limits.soft_ms):  # the time that the surface gave
            fact = self._plan.item.timeout_message or fact
        variable = " or OHM_SUBAGENTS_BACKEND_TIMEOUT_MS" if clock == "soft" else ""
        return OhmError(
            code=ErrorCode.BACKEND_TIMEOUT,
            message=fact,
            advice=f"The limit was {limit_ms} ms; raise limits.{clock}Ms of the subagent in ohm.json{variable}, "
            "or give it a smaller task.",
            retryable=True,
        )

    # What is done about it

    def _obey(self, trip: Trip | None) -> None:
        match trip:
            case None:
                pass
            case Trip(step="warn", message=message):
                self._record("loop", "warn", message)
                self._live.nudge(f"{message} Repeating it will not help: try another way, or answer.")
            case Trip(step="finish", message=message):
                self._finish("loop", message)
            case Trip(message=message):
                error = OhmError(
                    code=ErrorCode.LOOP_DETECTED,
                    message=self._plan.loop.message or message,
                    advice="The subagent went in circles; what it did until then is kept. Give it a clearer task"
                    f"{self._polling_advice()}.",
                )
                self._stop("loop", error)
                self.is_deaf = self.error is error

    def _polling_advice(self) -> str:
        """Where a tool is named that may repeat; a surface with a rule of its own has no such list."""
        item = self._plan.item
        if item.loop is not None:
            return ""
        place = "the polling list of the subagent" if item.prepared is None else "subagents.loop.polling of ohm.json"
        return f", or name a tool that is meant to repeat in {place}"

    def _check(self, spent: Spent | None) -> None:
        if spent is not None:
            self._stop(spent.guard, spent.error)

    def _finish(self, guard: Guard, why: str) -> None:
        if self._live.finish(f"{why} {HAND_IN if self._plan.profile.finalize else FINISH}"):
            self._record(guard, "finish", f"{why} The subagent was asked to answer now.")

    def last_request(self, guard: Guard) -> None:
        """A budget allows one more request, which goes out as the last one."""
        self._record(guard, "finish", "The budget allows one more model request: the subagent was asked to answer.")

    def refused(self, spent: Spent) -> None:
        """A budget does not allow the next request: the backend is told, and ends the run itself."""
        self._record(spent.guard, "stop", spent.error.message)

    def _stop(self, guard: Guard, error: OhmError) -> None:
        if self.error is None and not self._is_over:
            self.error = error
            self._record(guard, "stop", error.message)
            self.scope.cancel()
            self._given_up_at = anyio.current_time() + GRACE_S
            self._alarm.set(self)

    def _record(self, guard: Guard, step: LoopStep, message: str) -> None:
        self._live.record(GuardTripped(guard=guard, step=step, message=message))

    # Waiting that does not count

    def hold(self, held: RequestHeld) -> None:
        """The next model request waits."""
        if not self._waits:
            self._waits = True
            self._deadlines.hold(anyio.current_time())
            self._live.record(held)

    def release(self) -> None:
        """It goes out, if it did wait."""
        if self._waits:
            self._waits = False
            self._resume()
            self._live.record(RequestReleased())

    def delegated(self) -> None:
        """The run has started a task, which has clocks of its own."""
        self._deadlines.hold(anyio.current_time())

    def returned(self) -> None:
        """That task is over."""
        self._resume()

    def _resume(self) -> None:
        self._deadlines.release(anyio.current_time())
        self._alarm.set(self)
