"""Run the checks of an outcome, one after the other."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ohm_subagents._concurrency.event_loop import loop_clock
from ohm_subagents._orchestrator.acceptance.command import MOST_BYTES, run_command
from ohm_subagents._orchestrator.acceptance.passed import files_of
from ohm_subagents._orchestrator.acceptance.workspace_file import file_fault
from ohm_subagents.contract.acceptance import CheckResult
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.sandbox.box import Box
from ohm_subagents.sandbox.choice import box_for
from ohm_subagents.sandbox.proxy import proxied
from ohm_subagents.shell.process import Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from ohm_subagents._orchestrator.acceptance.command import Ran
    from ohm_subagents._orchestrator.acceptance.passed import PassedCommands
    from ohm_subagents._plugins.backends.request import RunRequest
    from ohm_subagents.contract.acceptance import Acceptance, Check
    from ohm_subagents.contract.errors import OhmError

OUTPUT_CHARS: Final = 2000
"""So much of the end of a command's output is kept."""
UNCHANGED: Final = "No file has changed since it passed, so it was not run again."
_GRACE_S: Final = 1.0
"""A command that is stopped has so long to end by itself."""


async def run_checks(
    acceptance: Acceptance, request: RunRequest, redact: Callable[[str], str], passed: PassedCommands | None = None
) -> tuple[CheckResult, ...]:
    """Run all checks in the directory of a run, within the time that they have together.

    One that fails ends none of the others: the evidence is whole. `redact` is applied to output before it is cut.
    `passed` remembers what need not run again, of a run in a clone.
    """
    files = await files_of(request) if passed is not None and passed.knows(request) else ""
    known = [one for one in acceptance.checks if passed is not None and passed.has(one.target, request, files)]
    async with Supervisor.open(grace_s=_GRACE_S) as supervisor:
        results = await Checks(acceptance, request, supervisor, redact).run(known)
    commands = [
        one.target
        for one, result in zip(acceptance.checks, results, strict=True)
        if one.kind == "run" and result.verdict == "passed"
    ]
    if passed is not None and commands:
        files = await files_of(request)
        for command in commands:
            passed.add(command, request, files)
    return results


class Checks:
    """The checks of one outcome, while they run."""

    def __init__(
        self, acceptance: Acceptance, request: RunRequest, supervisor: Supervisor, redact: Callable[[str], str]
    ) -> None:
        self._acceptance = acceptance
        self._request = request
        self._supervisor = supervisor
        self._redact = redact
        self._now = loop_clock()
        self._until = self._now() + acceptance.seconds

    async def run(self, known: Container[Check] = ()) -> tuple[CheckResult, ...]:
        """Run each check but those that are known to pass, in order."""
        results: list[CheckResult] = []
        for check in self._acceptance.checks:
            if check.kind == "run" and check in known:
                results.append(CheckResult(check=f"{check}", verdict="passed", why=UNCHANGED))
                continue
            began = self._now()
            result = await (self._file(check) if check.kind == "file" else self._command(check))
            results.append(replace(result, duration_ms=round((self._now() - began) * 1000)))
        return tuple(results)

    async def _file(self, check: Check) -> CheckResult:
        look = partial(file_fault, self._request.cwd, check.target)
        fault = await to_thread.run_sync(look, abandon_on_cancel=True)
        return CheckResult(check=f"{check}", verdict="failed" if fault else "passed", why=fault or "")

    async def _command(self, check: Check) -> CheckResult:
        seconds = self._until - self._now()
        if seconds <= 0:
            why = f"No time was left: all checks together may take {self._acceptance.seconds} s."
            return CheckResult(check=f"{check}", verdict="not_run", why=why)
        box = await self._box()
        if isinstance(box, Err):
            return CheckResult(check=f"{check}", verdict="not_run", why=box.err_value.message)
        ran = await self._ran(check.target, seconds, box.ok_value)
        if isinstance(ran, Err):
            return CheckResult(check=f"{check}", verdict="not_run", why=ran.err_value.message)
        return self._result(check, ran.ok_value)

    async def _ran(self, line: str, seconds: float, box: Box | None) -> Result[Ran, OhmError]:
        if box is None:
            return await run_command(self._supervisor, line, self._request, seconds, None)
        async with proxied(box) as reaching:
            return await run_command(self._supervisor, line, self._request, seconds, reaching)

    async def _box(self) -> Result[Box | None, OhmError]:
        """Return the box of the run, in which a clone has all that it needs; that of one which starts no programs."""
        request = self._request
        if request.box is not None:
            return Ok(request.box)
        match await box_for(request.spec.sandbox, request.cwd, request.env):
            case Err() as refused:
                return refused
            case Ok(found):
                return Ok(found if isinstance(found, Box) else None)  # else the run has said that there is none

    def _result(self, check: Check, ran: Ran) -> CheckResult:
        output = self._redact(ran.output)[-OUTPUT_CHARS:].strip()
        result = CheckResult(check=f"{check}", verdict="failed", output=output)
        match ran.how:
            case "ended" if ran.code == 0:
                return replace(result, verdict="passed", exit_code=0)
            case "ended":
                return replace(result, why=f"It ended with exit code {ran.code}.", exit_code=ran.code)
            case "late":
                return replace(result, why=f"It was stopped: all checks may take {self._acceptance.seconds} s in all.")
            case "flooding":
                return replace(result, why=f"It was stopped: it wrote more than {MOST_BYTES // 2**20} MiB.")
