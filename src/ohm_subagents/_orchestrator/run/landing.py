"""The landing of a run that succeeded: what it did in a clone is made to the files of its parent, where it fits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.events import DiagnosticRaised
from ohm_subagents.contract.result import Err, Result
from ohm_subagents.workspaces import Landings

if TYPE_CHECKING:
    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents._orchestrator.run.approvals import Approvals
    from ohm_subagents._orchestrator.run.running_task import RunningTask
    from ohm_subagents.contract.diagnostics import Severity
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.workspace import Landing


async def land_after_run(live: RunningTask, plan: Plan, approvals: Approvals) -> None:
    """Land the work of a task, all of it or none, and record what came of it. It takes no answer away.

    With `ask`, somebody has to agree before.
    """
    kept = live.task.activity.workspace
    land = plan.launch.land
    if kept is None:
        if plan.cloning is None and plan.item.overrides.land is not None:
            _tell(live, f"land '{land}' has no effect: the task has worked on the files themselves, without a clone.")
        return
    if kept.landed == "clean":  # the run has changed nothing more
        return
    refusal = await approvals.landing(kept) if land == "ask" else None
    if refusal is not None:
        _tell(live, refusal, severity="info")
        return
    landing = await _landing(live, plan)
    if isinstance(landing, Err):
        _tell(live, f"The work has not landed: {landing.err_value}")
        return
    done = landing.ok_value
    live.record.add(replace(kept, landed=done.landed, conflicts=done.reasons))


async def _landing(live: RunningTask, plan: Plan) -> Result[Landing, OhmError]:
    landings = Landings.of(plan.spec.env)
    if isinstance(landings, Err):
        return landings
    return await landings.ok_value.land(plan.spec.cwd, live.task.id)


def _tell(live: RunningTask, message: str, *, severity: Severity = "warning") -> None:
    live.record.add(DiagnosticRaised(diagnostic=Diagnostic(subject="workspace", message=message, severity=severity)))
