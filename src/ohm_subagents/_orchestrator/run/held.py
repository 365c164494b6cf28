"""The sandbox of a run, decided when it begins: by its settings, its backend and the machine."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ohm_subagents._plugins.backends.interface import Capability
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.events import DiagnosticRaised
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents._orchestrator.run.task_record import TaskRecord
    from ohm_subagents._plugins.backends.interface import Backend, RunOutput
    from ohm_subagents._plugins.backends.request import RunRequest
    from ohm_subagents._plugins.backends.sink import Sink
    from ohm_subagents.sandbox.box import Box

_SHELL: Final = "bash"
_OFFLINE: Final = "Landlock keeps no program to the servers of sandboxRules.network: it has no network at all."
_INSTALL: Final = "Run `ohm doctor` to see why bubblewrap cannot be used here."
_ADVICE: Final = "Run it on a backend of this machine: `interactive-sdk`, `interactive-shell` or a command-line agent."


async def box_of(plan: Plan, record: TaskRecord) -> Result[Box | None, OhmError]:
    """Return the box of a run, None without one; a run that goes on without a sandbox that it prefers says so."""
    spec, can = plan.spec, plan.capabilities
    starts_programs = Capability.IN_PROCESS not in can or _SHELL in spec.tools or plan.sourced is not None
    if spec.sandbox.mode == "off" or not starts_programs:
        return Ok(None)
    from ohm_subagents.sandbox.choice import box_for, unheld  # noqa: PLC0415  most runs have none

    if Capability.SANDBOX in can:
        found = await box_for(spec.sandbox, spec.cwd, spec.env)
    else:
        found = unheld(spec.sandbox, f"The backend '{plan.backend}' holds no programs in a sandbox.", _ADVICE)
    if isinstance(found, Err):
        return found
    held = found.ok_value
    if isinstance(held, Diagnostic):
        record.add(DiagnosticRaised(diagnostic=held))
        return Ok(None)
    if held is not None and held.mechanism != "bubblewrap" and not isinstance(held.rules.network, str):
        record.add(DiagnosticRaised(diagnostic=Diagnostic(subject="sandbox", message=_OFFLINE, advice=_INSTALL)))
    return Ok(held)


def run_held(backend: Backend, request: RunRequest, sink: Sink) -> Awaitable[Result[RunOutput, OhmError]]:
    """Run a prompt, with a proxy beside it where the rules of its sandbox name servers."""
    box = request.box
    if box is None or isinstance(box.rules.network, str):
        return backend.run(request, sink)
    return _run_proxied(backend, request, sink, box)


async def _run_proxied(backend: Backend, request: RunRequest, sink: Sink, box: Box) -> Result[RunOutput, OhmError]:
    from ohm_subagents.sandbox.proxy import proxied  # noqa: PLC0415  most runs reach no server, or all of them

    async with AsyncExitStack() as stack:
        try:
            box = await stack.enter_async_context(proxied(box))
        except OSError as error:
            message = f"No proxy can be opened for the servers of sandboxRules.network: {error}."
            return Err(OhmError(code=ErrorCode.SANDBOX_UNAVAILABLE, message=message))
        return await backend.run(replace(request, box=box), sink)
