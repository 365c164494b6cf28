"""Runs whose outcome is checked where they have worked, after the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._concurrency.faults import error_text, interrupt_in
from ohm_subagents._orchestrator.acceptance.checks import run_checks
from ohm_subagents.contract.acceptance import CheckResult, OutcomeChecked, verdict_of
from ohm_subagents.contract.result import Ok, Result

if TYPE_CHECKING:
    from ohm_subagents._orchestrator.acceptance.outcome import Demand
    from ohm_subagents._orchestrator.acceptance.passed import PassedCommands
    from ohm_subagents._orchestrator.run.guard import RunGuard
    from ohm_subagents._orchestrator.run.task_record import TaskRecord
    from ohm_subagents._plugins.backends.interface import Backend, RunOutput
    from ohm_subagents._plugins.backends.request import RunRequest
    from ohm_subagents._plugins.backends.sink import Sink
    from ohm_subagents.contract.errors import OhmError

_ELSEWHERE = "The files of the run are not on this machine."


class CheckedBackend:
    """A backend for one run, which checks the outcome after an answer. What it answers stays as it is.

    No clock of the run counts meanwhile: the checks have a time of their own.
    """

    def __init__(
        self,
        backend: Backend,
        demand: Demand,
        *,
        record: TaskRecord,
        guard: RunGuard,
        passed: PassedCommands | None = None,
    ) -> None:
        """`passed` is for a run in a clone."""
        self._backend = backend
        self._passed = passed
        self._demand = demand
        self._record = record
        self._guard = guard

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Run the prompt, then the checks if there is an answer."""
        result = await self._backend.run(request, sink)
        if self._is_answered(result):
            results = await self._results(request)
            attempt = self._demand.attempt
            self._record.add(OutcomeChecked(verified=verdict_of(results), checks=results, attempt=attempt))
        return result

    def _is_answered(self, result: object) -> bool:
        """Return True if there is an answer to check; one that a profile demands has to be handed in."""
        if not self._demand.is_handed_in:
            return isinstance(result, Ok)
        final = self._record.task.activity.finalized
        return final is not None and final.status == "SUCCESS"

    async def _results(self, request: RunRequest) -> tuple[CheckResult, ...]:
        acceptance = self._demand.acceptance
        if not self._demand.is_here:
            return self._not_run(_ELSEWHERE)
        self._guard.pause(entirely=True)
        try:
            return await run_checks(acceptance, request, self._record.redact, self._passed)
        except BaseException as exc:  # noqa: BLE001  a fault of ours takes no good answer away
            stop = interrupt_in(exc)
            if stop is not None:
                raise stop from None
            self._record.log_crash(exc)
            return self._not_run(error_text(exc))
        finally:
            self._guard.resume(entirely=True)

    def _not_run(self, why: str) -> tuple[CheckResult, ...]:
        checks = self._demand.acceptance.checks
        return tuple(CheckResult(check=f"{one}", verdict="not_run", why=why) for one in checks)
