"""The backend of a run, inside of what its plan puts around it: a menu of models, checks, more tools, a clone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from ohm_subagents._concurrency.shared_resource import READY_WITHIN_S
from ohm_subagents._orchestrator.acceptance.outcome import demand_of
from ohm_subagents._plugins.backends.attaching import Reattached
from ohm_subagents._plugins.backends.preparation import not_ready
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from ohm_subagents._orchestrator.acceptance.passed import PassedCommands
    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents._orchestrator.queued_prompt import QueuedPrompt
    from ohm_subagents._orchestrator.run.guard import RunGuard
    from ohm_subagents._orchestrator.run.isolated import IsolatedBackend
    from ohm_subagents._orchestrator.run.running_task import RunningTask
    from ohm_subagents._orchestrator.run.throttle import Throttle
    from ohm_subagents._plugins.backends.interface import Backend
    from ohm_subagents._plugins.backends.pool import Lease, Opened
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.workspace import Cloning
    from ohm_subagents.workspaces import TaskWorkspaces


class RunBackends:
    """Opens the backends of runs, and wraps each for its run."""

    def __init__(self, throttle: Throttle) -> None:
        self._throttle = throttle
        self._workspaces: Ok[TaskWorkspaces] | None = None
        self._passed: PassedCommands | None = None

    async def opened(
        self, plan: Plan, live: RunningTask, prompt: QueuedPrompt, guard: RunGuard, lease: Lease
    ) -> Result[Backend, OhmError]:
        """Return the backend that gives the prompt to the one of the plan, or why there can be none."""
        opened = lease.at_once()
        if opened is None:
            opened = await _ready(plan, lease, guard)
        if isinstance(opened, Err):
            return opened
        backend: Backend = opened.ok_value
        if prompt.is_attached:
            backend = Reattached(opened.ok_value)
        elif plan.route is not None:
            from ohm_subagents._orchestrator.run.routed import RoutedBackend  # noqa: PLC0415  only for a menu of models

            cool_downs = self._throttle.cool_downs
            backend = RoutedBackend(opened.ok_value, plan.route, cool_downs, record=live.record, guard=guard)
        demand = demand_of(prompt)
        if demand is not None:
            from ohm_subagents._orchestrator.run.checked import CheckedBackend  # noqa: PLC0415  for checks

            backend = CheckedBackend(backend, demand, record=live.record, guard=guard, passed=self._remembered(plan))
        if plan.sourced is not None:
            from ohm_subagents._orchestrator.run.sourced_tools import SourcedBackend  # noqa: PLC0415  for MCP servers

            backend = SourcedBackend(backend, plan.sourced, live=live, guard=guard)
        if plan.cloning is not None:
            isolated = self._isolated(backend, live, plan, plan.cloning, guard)
            if isinstance(isolated, Err):
                return isolated
            backend = isolated.ok_value
        return Ok(backend)

    def _remembered(self, plan: Plan) -> PassedCommands | None:
        """Return what has passed in clones: of other files nobody knows who else changes them."""
        if plan.cloning is None:
            return None
        from ohm_subagents._orchestrator.acceptance.passed import PassedCommands  # noqa: PLC0415  for clones

        self._passed = self._passed or PassedCommands()
        return self._passed

    def _isolated(
        self, backend: Backend, live: RunningTask, plan: Plan, cloning: Cloning, guard: RunGuard
    ) -> Result[IsolatedBackend, OhmError]:
        """Return the backend for a run in a clone, or why there can be none."""
        from ohm_subagents._orchestrator.run.isolated import IsolatedBackend  # noqa: PLC0415  most runs have no clone
        from ohm_subagents.workspaces import workspaces_of  # noqa: PLC0415

        workspaces = self._workspaces or workspaces_of(plan.spec.env)
        if isinstance(workspaces, Err):
            return workspaces
        self._workspaces = workspaces
        isolated = IsolatedBackend(backend, workspaces.ok_value, cloning, live=live, former=plan.former, guard=guard)
        return Ok(isolated)

    def with_model(self, plan: Plan) -> Plan:
        """Return the plan with the first model of its route that does not cool down."""
        if plan.route is None:
            return plan
        model = self._throttle.cool_downs.first(plan.route.models)
        return plan._replace(spec=replace(plan.spec, model=model))


async def _ready(plan: Plan, lease: Lease, guard: RunGuard) -> Opened:
    """Return the backend, open and prepared; an `Err` too if that takes too long."""
    guard.prepare()
    with anyio.move_on_after(READY_WITHIN_S):
        opened = await lease.backend()
        if isinstance(opened, Ok):
            await opened.ok_value.prepare(plan.profile, plan.spec.model)  # what it cannot make, the run will say
        return opened
    return Err(not_ready(plan.backend))
