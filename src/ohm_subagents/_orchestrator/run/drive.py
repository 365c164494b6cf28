"""The run loop: all runs of a task, from its first prompt to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ohm_subagents._concurrency.faults import interrupt_in
from ohm_subagents._orchestrator.acceptance.outcome import not_mended, retold, settled, unaccepted
from ohm_subagents._orchestrator.call_context import current_context
from ohm_subagents._orchestrator.finalization import concluded, correction, exhausted
from ohm_subagents._orchestrator.run.approvals import Approvals
from ohm_subagents._orchestrator.run.guard import RunGuard
from ohm_subagents._orchestrator.run.held import box_of, run_held
from ohm_subagents._orchestrator.run.parking import lineage, parked
from ohm_subagents._orchestrator.run.results import checked_result, failure_of, raised_in
from ohm_subagents._orchestrator.run.run_backends import RunBackends
from ohm_subagents._orchestrator.run.run_request import assembled, run_request
from ohm_subagents._orchestrator.run.sink import RunSink
from ohm_subagents.contract.activity import changed
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.events import DiagnosticRaised, RunStarted
from ohm_subagents.contract.outcome import Cancelled, Failed, Succeeded
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents._orchestrator.queued_prompt import QueuedPrompt
    from ohm_subagents._orchestrator.run.parking import Slot
    from ohm_subagents._orchestrator.run.requests import Requests
    from ohm_subagents._orchestrator.run.running_task import RunningTask
    from ohm_subagents._orchestrator.run.throttle import Throttle
    from ohm_subagents._orchestrator.run.timers import Timers
    from ohm_subagents._plugins.backends.interface import RunOutput
    from ohm_subagents._plugins.backends.pool import BackendPool, Lease
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.outcome import Outcome

OWNER_CLOSED = Cancelled(reason="The owner of the task was closed.")
WITHDRAWN = Cancelled(reason="The caller stopped waiting.")
SUCCEEDED: Outcome = Succeeded()


class Shared(NamedTuple):
    """The parts that all runs share."""

    pool: BackendPool
    throttle: Throttle
    requests: Requests


class Driver:
    """Runs tasks to their end on the backends of the pool, each run under a guard."""

    def __init__(
        self,
        shared: Shared,
        *,
        timers: Timers,
        without_slot: Slot,
    ) -> None:
        """`without_slot` gives the slot of a task in the queue back while it is open."""
        self._pool, self._throttle, self._requests = shared
        self._without_slot = without_slot
        self._timers = timers
        self._backends = RunBackends(self._throttle)

    async def drive(self, live: RunningTask, begun: Callable[[], None]) -> None:
        """Run a task to its end, which its record tells; `begun` is called when its first run begins."""
        try:
            if not live.task.is_terminal:  # else it was cancelled at the last moment
                await self._drain(live, begun)
        except BaseException as exc:  # noqa: BLE001  a fault of the engine, or of what it was given, costs one task
            stop = interrupt_in(exc)
            if stop is not None:
                raise stop from None
            live.record.settle(Failed(error=raised_in(live, exc)))
        finally:
            live.record.abandon(OWNER_CLOSED, settled=live.asked.outcome or OWNER_CLOSED)

    async def _drain(self, live: RunningTask, begun: Callable[[], None]) -> None:
        """Run each prompt of the inbox, then settle the task.

        A run that did not hand in the answer that its profile demands is followed by one that asks for it, and one
        whose outcome did not pass its checks, where that is wanted, by one that is told of them. The first prompt
        decides the outcome of the task. A follow-up that fails is the answer of its own `send` and a diagnostic of the
        task: what was found before is not thrown away.
        """
        while not live.task.is_terminal and (prompt := live.inbox.take()) is not None:
            ended = await self._run(live, prompt, begun)
            lacking = correction(live.task, prompt, ended)
            if lacking is not None and prompt.attempt <= prompt.plan.profile.corrections:
                live.inbox.correct(prompt, lacking)
                continue
            if lacking is not None:
                ended = exhausted(prompt, ended)
            elif (failures := retold(live.task, prompt, ended)) is not None:
                live.inbox.correct(prompt, failures, after=ended)
                continue
            if (outcome := settled(prompt, ended)) is not ended:
                live.record.add(DiagnosticRaised(diagnostic=not_mended(ended)))
                ended = outcome
            elif isinstance(ended, Succeeded) and prompt.plan.launch.land != "never":
                from ohm_subagents._orchestrator.run.landing import land_after_run  # noqa: PLC0415  most work stays where it is

                await land_after_run(live, prompt.plan, self._approvals(live, prompt.plan))
            live.inbox.answer(prompt)
            if live.asked.outcome is None:
                live.asked.outcome = ended
            elif isinstance(ended, Failed):
                failed = Diagnostic(subject="follow-up", message=f"A follow-up failed: {ended.error.message}")
                live.record.add(DiagnosticRaised(diagnostic=failed))
        live.record.settle(live.asked.outcome or OWNER_CLOSED)

    async def _run(self, live: RunningTask, prompt: QueuedPrompt, begun: Callable[[], None]) -> Outcome:
        """Give one prompt to its backend under a guard, and record the outcome."""
        plan = prompt.plan
        current_context.set(live.context)  # of the work of this task alone
        prompt.earlier = next(reversed(live.task.activity.calls), None)
        # what its call has without effect was recorded before the first run, and is told by the answer to it
        prompt.began = prompt.began or (live.task if live.task.runs else changed(live.task, diagnostics=()))
        if live.span is not None:
            live.span.begin_run(plan.backend, traces_itself=plan.traces_itself)
        if not prompt.is_attached:
            is_first = not live.task.runs  # what its plan does not do as asked was recorded when it was queued
            live.record.add(RunStarted(prompt=prompt.text, is_follow_up=prompt.is_follow_up))
            for diagnostic in () if is_first else plan.diagnostics:
                live.record.add(DiagnosticRaised(diagnostic=diagnostic))
        begun()
        guard = RunGuard(
            prompt,
            record=live.record,
            inbox=live.inbox,
            ledger=live.caller.ledger,
            timers=self._timers,
            throttle=self._throttle,
            approvals=lambda: self._approvals(live, plan),
        )
        result = await self._ask(live, prompt, guard)
        if result is not None or guard.error is not None:  # else the caller has withdrawn the prompt
            result = concluded(live.task, prompt, result, live.record.redact)
        match result:
            case Ok(output):
                if guard.error is not None:  # it answered all the same, before it could be stopped
                    late = Diagnostic(subject="limits", message=guard.error.message)
                    live.record.add(DiagnosticRaised(diagnostic=late))
                unfit = unaccepted(live.task, plan)
                outcome = SUCCEEDED if unfit is None else failure_of(unfit, live)
                live.record.end_run(outcome, output)
            case _ if guard.error is not None:
                outcome = failure_of(guard.error, live)
                live.record.cut_run(outcome)
            case Err(error):
                outcome = failure_of(error, live)
                live.record.end_run(outcome)
            case None:
                outcome = WITHDRAWN
                live.record.cut_run(outcome)
        return outcome

    def _approvals(self, live: RunningTask, plan: Plan) -> Approvals:
        """Return what asks for a run of this plan."""
        return Approvals(
            live.record,
            plan.spec,
            self._requests,
            path=lambda: tuple(one.task.id for one in lineage(live)),
            park=lambda: parked(live, self._without_slot),
            later=None if plan.sourced is None else plan.sourced.tools,
        )

    async def _ask(
        self, live: RunningTask, prompt: QueuedPrompt, guard: RunGuard
    ) -> Result[RunOutput, OhmError] | None:
        """Call the backend once; a raising one fails its own run only. None if the run was stopped in time."""
        refused = guard.begin()
        if refused is not None:
            return Err(refused)
        result: Result[RunOutput, OhmError] | None = None
        plan, sink = prompt.plan, RunSink(live.record, guard, prompt.plan)
        try:
            with guard.scope:
                try:
                    with self._pool.lease(plan.backend) as lease:
                        result = await self._answer(live, prompt, guard, sink, lease)
                except BaseException as exc:  # noqa: BLE001  a backend must never raise; a plugin may all the same
                    stop = interrupt_in(exc)
                    if stop is not None:
                        if stop is not exc:  # it broke while it was stopped
                            live.record.log_crash(exc)
                        raise stop from None
                    live.record.close_calls()
                    result = Err(raised_in(live, exc))
        finally:
            sink.close()
            live.guard = None
            guard.end(is_counted=plan.counts_usage)
            self._requests.drop_answers(live.task.id)
        return None if guard.ignores_output else result

    async def _answer(
        self, live: RunningTask, prompt: QueuedPrompt, guard: RunGuard, sink: RunSink, lease: Lease
    ) -> Result[RunOutput, OhmError]:
        plan = self._backends.with_model(prompt.plan)
        backend = await self._backends.opened(plan, live, prompt, guard, lease)
        if isinstance(backend, Err):
            return backend
        guard.start()
        live.guard = guard
        if live.label != plan.label and not prompt.is_attached:
            live.label = plan.label
            live.record.reroute(live.label)
        held = await box_of(plan, live.record)
        if isinstance(held, Err):
            return held
        text = await assembled(prompt, live.inbox.notices)
        request = run_request(live, plan, text, guard, sink, box=held.ok_value)
        answer: object = await run_held(backend.ok_value, request, sink)
        return checked_result(live, prompt, answer)
