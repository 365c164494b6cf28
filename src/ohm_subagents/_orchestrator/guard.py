"""What watches one run: four clocks, the loop guard, the budgets. It warns, asks to finish, and in the end stops it."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._orchestrator.deadlines import Deadlines
from ohm_subagents._orchestrator.loops import LoopWatch, Trip
from ohm_subagents._orchestrator.purse import Reservation, Spent
from ohm_subagents._plugins.gate import Grant
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.events import (
    AgentEnded,
    Checkpointed,
    DiagnosticRaised,
    FileChanged,
    GuardTripped,
    RequestHeld,
    RequestReleased,
    RouteResolved,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    UsageAdded,
)
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ohm_subagents._orchestrator.alarm import Alarm
    from ohm_subagents._orchestrator.live import LiveTask, Message
    from ohm_subagents._orchestrator.throttle import Throttle
    from ohm_subagents._plugins.gate import RequestNeed
    from ohm_subagents.contract.events import Guard, RunEvent
    from ohm_subagents.contract.limits import ClockName, LoopStep

FINISH: Final = (
    "Answer now with what you have found so far: say what is done, what is missing, and where to go on. "
    "There are no tools any more."
)


class RunGuard:
    """Hears every event of one run, and is the gate of its model requests.

    When it stops the run, `error` says why and `scope` is cancelled; so does whoever withdraws the message.
    """

    def __init__(self, live: LiveTask, message: Message, *, alarm: Alarm, throttle: Throttle) -> None:
        now = anyio.current_time()
        plan, account = message.plan, live.lineage.account
        self.scope = message.scope = anyio.CancelScope()
        self.error: OhmError | None = None
        self.armed_at = math.inf
        self._live = live
        self._plan = plan
        self._account = account
        self._alarm = alarm
        self._throttle = throttle
        self._deadlines = Deadlines(plan.limits, begun=now, wall_at=account.begin(now))
        self._loops = LoopWatch(plan.loop)
        self._first: Reservation | None = None
        self._held: list[Reservation] = []
        self._is_over = False

    # Around the run

    def begin(self) -> OhmError | None:
        """Reserve the first request, which every run takes, and start the clocks; or why the run may not begin."""
        first = self._account.reserve()
        if isinstance(first, Spent):
            self._record(first.guard, "stop", first.error.message)
            return first.error
        self._first = first
        self._alarm.join()
        self._alarm.set(self)
        return None

    def end(self, *, is_counted: bool) -> None:
        """The run is over: stop the clocks and give back what was reserved.

        Of a backend that does not count its requests (not `is_counted`), the run was one.
        """
        self._is_over = True
        self._alarm.leave()
        for held in self._held:
            self._account.release(held)
        if self._first is not None:
            give_back = self._account.release if is_counted else self._account.keep
            give_back(self._first)

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
                self._progress(now)
            case ToolStarted(call_id=call_id, tool=tool, args=args):
                self._deadlines.call_started(call_id, now)
                self._alarm.set(self)
                self._obey(self._loops.called(tool, args))
                self._check(self._account.call_tool())
            case ToolEnded(call_id=call_id, tool=tool, text=text):
                self._deadlines.call_ended(call_id, now)
                self._alarm.set(self)
                self._obey(self._loops.answered(tool, text))
            case UsageAdded(usage=usage):
                self._progress(now)
                self._check(self._account.spend(usage, self._reserved() if usage.requests else None))
            case RouteResolved() | DiagnosticRaised() | Checkpointed():
                pass  # the engine's own doing, or the backend's; the model has said nothing by them
            case ToolUpdated() | FileChanged() | AgentEnded():
                self._progress(now)

    def _reserved(self) -> Reservation | None:
        """What was set aside for a request that is over now."""
        if self._held:
            return self._held.pop(0)
        first, self._first = self._first, None
        return first

    def _progress(self, now: float) -> None:
        first = self._deadlines.is_silent
        self._deadlines.progress(now)
        if first:
            self._alarm.set(self)

    # The alarm

    @property
    def wakes_at(self) -> float:
        """When the next clock runs out, or its finish is due."""
        return math.inf if self._is_over or self.error is not None else self._deadlines.next().at

    def wake(self) -> None:
        """A clock ran out, or is about to."""
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
        facts: dict[ClockName, tuple[int, str]] = {
            "soft": (limits.soft_ms, f"Task {task.id} timed out while waiting for subagent backend response"),
            "cap": (limits.cap_ms, f"Task {task.id} took longer than its cap of {limits.cap_ms} ms."),
            "idle": (limits.idle_ms, f"Task {task.id} heard nothing from the model for {limits.idle_ms} ms."),
            "tool": (
                limits.tool_ms,
                f"Task {task.id} had a call of the tool {task.open_calls[0].tool if task.open_calls else '?'} in "
                f"flight for {limits.tool_ms} ms.",
            ),
        }
        limit_ms, fact = facts[clock]
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
                    advice="The subagent went in circles; what it did until then is kept. Give it a clearer task, or "
                    "name a tool that is meant to repeat in the polling list of the subagent.",
                )
                self._stop("loop", error)

    def _check(self, spent: Spent | None) -> None:
        if spent is not None:
            self._stop(spent.guard, spent.error)

    def _finish(self, guard: Guard, why: str) -> None:
        if self._live.finish(f"{why} {FINISH}"):
            self._record(guard, "finish", f"{why} The subagent was asked to answer now.")

    def _stop(self, guard: Guard, error: OhmError) -> None:
        if self.error is None and not self._is_over:
            self.error = error
            self._record(guard, "stop", error.message)
            self.scope.cancel()

    def _record(self, guard: Guard, step: LoopStep, message: str) -> None:
        self._live.record(GuardTripped(guard=guard, step=step, message=message))

    # The gate (`Gate`)

    @asynccontextmanager
    async def request(self, need: RequestNeed) -> AsyncGenerator[Result[Grant, OhmError]]:
        """Wait for a turn, reserve the budget, hold both (`Gate`)."""
        reserved = await self._reserve(need)
        if isinstance(reserved, OhmError):
            yield Err(reserved)
            return
        try:
            async with self._throttle.turn(need.provider, held=self._hold, released=self._release):
                yield Ok(Grant(max_output_tokens=reserved.max_output_tokens, is_last=reserved.is_last))
        finally:
            if reserved in self._held:  # no usage came: it failed, or was refused
                self._held.remove(reserved)
                self._account.keep(reserved)

    def throttled(self, provider: str, *, attempt: int, retry_after_s: float | None) -> bool:
        """The provider refused (`Gate`)."""
        again = self._throttle.refused(provider, attempt=attempt, retry_after_s=retry_after_s)
        if again:
            self._account.refund()
        return again

    async def _reserve(self, need: RequestNeed) -> Reservation | OhmError:
        if self._first is not None:  # it stood for this one, and knew no tokens yet
            self._account.release(self._first)
            self._first = None
        while isinstance(reserved := self._account.reserve(need), Spent):
            if not reserved.may_return:
                self._record(reserved.guard, "stop", reserved.error.message)
                return reserved.error
            self._hold(RequestHeld(provider=need.provider, why="budget"))
            await self._account.changed()
        self._release()
        self._held.append(reserved)
        return reserved

    def _hold(self, held: RequestHeld) -> None:
        if not self._deadlines.is_held:
            self._deadlines.hold(anyio.current_time())
            self._live.record(held)

    def _release(self) -> None:
        if self._deadlines.is_held:
            self._deadlines.release(anyio.current_time())
            self._alarm.set(self)
            self._live.record(RequestReleased())
