"""What admission looks at: the configuration, the catalogue, the plugins, and what follows from them for a profile."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ohm_subagents._orchestrator.admission import refusals
from ohm_subagents._orchestrator.admission.answer import unfit
from ohm_subagents._orchestrator.admission.instructions import instructions
from ohm_subagents._orchestrator.call_context import CallContext, current_context, root_context
from ohm_subagents._plugins.suites import named_tools
from ohm_subagents._policy.agents import without_excluded
from ohm_subagents._policy.allowance import RunLimits, run_limits
from ohm_subagents._policy.permissions import visible
from ohm_subagents._policy.tools import ResolvedTools, resolve_tools
from ohm_subagents._profiles.agents import WISHLESS
from ohm_subagents.contract.commands import Send, StartItem
from ohm_subagents.contract.limits import Budget
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ohm_subagents._config.schema import OhmConfig
    from ohm_subagents._config.subagents import SubagentEntry
    from ohm_subagents._plugins.host import PluginHost
    from ohm_subagents._plugins.interfaces import BackendSpec
    from ohm_subagents._plugins.suites import Tool
    from ohm_subagents._profiles.agents import AgentShelf
    from ohm_subagents._profiles.catalog import Catalog
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.profile import Profile
    from ohm_subagents.contract.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedProfile:
    """What holds for every task of a profile, whatever it is asked; with a `fault` there is none.

    `own` is what ohm.json says of the profile: nothing, of one that a surface has prepared, whatever its id.
    """

    profile: Profile
    fault: OhmError | None
    own: SubagentEntry
    tools: Result[ResolvedTools, OhmError]
    child_tools: tuple[Tool, ...]
    limits: Result[RunLimits, OhmError]
    instructions: str


@dataclass(frozen=True, kw_only=True)
class AdmissionContext:
    """All of it immutable until the next reconfiguration, but the plugins' answers and the files of agent profiles.

    `depth` is how many subagents this process is inside of; None if nobody knows, and then nothing may start. `env` is
    the environment that the `Ohm` was opened with, `parent_tools` what the agent above us may call.
    """

    config: OhmConfig
    catalog: Catalog
    agents: AgentShelf
    parent_tools: Callable[[], tuple[str, ...]]
    host: PluginHost
    cwd: Path
    backends: Mapping[str, BackendSpec]
    child_tools: Mapping[str, Tool]
    depth: int | None
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    _resolved: dict[tuple[str, bool], ResolvedProfile] = field(
        default_factory=dict[tuple[str, bool], ResolvedProfile], repr=False, compare=False
    )

    def find(self, item: StartItem) -> Result[Profile, OhmError]:
        """The profile that an item names, among those it is looked for.

        Returns `unknown_subagent_type`.
        """
        if item.prepared is not None:
            return Ok(item.prepared)
        if item.catalog == "subagents":
            found = self.catalog.find(f"{item.profile}")
            if found is not None:
                return Ok(found)
            agents = {one.name for one in self.visible_agents()}
            return Err(refusals.unknown_profile(f"{item.profile}", self.visible_ids(), agents))
        if not item.profile:
            return Ok(WISHLESS)
        names = {one.name: one for one in self.visible_agents()}
        found = names.get(item.profile)
        return Ok(found) if found else Err(refusals.unknown_agent(item.profile, tuple(names)))

    def visible_agents(self) -> tuple[Profile, ...]:
        """The agent profiles that a caller may be told of, by name."""
        return visible(self.agents.roster().profiles.values(), self.config.subagents.permissions)

    def equipped(self, profile: Profile) -> Result[Profile, OhmError]:
        """An agent profile with its skills, and with the tools of its parent that it does not exclude.

        Returns `unknown_skills` or `profile_argument_refused`.
        """
        if profile.agent is None:
            return Ok(profile)
        return self.agents.equipped(without_excluded(profile, self.parent_tools()))

    def resolved(self, profile: Profile, item: StartItem) -> ResolvedProfile:
        """What follows for the profile of an item; worked out once for as long as it is the same."""
        key = profile.id, item.prepared is not None
        found = self._resolved.get(key)
        if found is None or found.profile is not profile:  # two catalogues may have the id, and files are read again
            found = self._resolved[key] = self._resolve(profile, is_prepared=item.prepared is not None)
        return found

    def _resolve(self, profile: Profile, *, is_prepared: bool) -> ResolvedProfile:
        subagents = self.config.subagents
        own = subagents.unnamed if is_prepared else subagents.entry(profile.id)
        is_agent = profile.agent is not None
        tools = resolve_tools(
            profile.tools,
            own.tools,
            offered=tuple(self.child_tools),
            only_if_named=named_tools(self.child_tools),
            is_agent=is_agent,
        )
        names = () if isinstance(tools, Err) else tools.ok_value.names
        return ResolvedProfile(
            profile=profile,
            fault=unfit(profile),
            own=own,
            tools=tools,
            child_tools=tuple(tool for name, tool in self.child_tools.items() if name in names),
            limits=run_limits(profile, own, self.config),
            instructions=instructions(profile, self.cwd),
        )

    def limits(self, profile: Profile, item: StartItem) -> Result[RunLimits, OhmError]:
        """What the run of an item may take."""
        resolved = self.resolved(profile, item)
        if item.limits is None and item.loop is None:
            return resolved.limits
        return run_limits(profile, resolved.own, self.config, limits=item.limits, loop=item.loop)

    def caller(self, max_depth: int | None = None) -> CallContext:
        """Return the context of the code that calls: its task's, else that of a program, under the configured budget.

        `max_depth` replaces the configured number of levels for a program.
        """
        current = current_context.get()
        if current is not None:
            return current
        budget = self._root_budget if max_depth is None else self._rooted_budget(max_depth)
        return root_context(budget, level=self.depth or 0)

    @cached_property
    def _root_budget(self) -> Budget:
        return self._rooted_budget(None)

    def _rooted_budget(self, max_depth: int | None) -> Budget:
        budget = Budget(depth=max_depth).over(self.config.subagents.tree_budget())
        return Budget(depth=0).over(budget) if self.depth is None else budget

    def continuation(self, task: Task, command: Send) -> StartItem:
        """Return the item that continues a settled task: as far as its record shows, it runs as the task did."""
        same = (spec.id for spec in self.backends.values() if task.assignment.backend in {spec.label, spec.id})
        is_wishless = task.assignment.catalog == "agents" and task.assignment.profile == WISHLESS.id
        return StartItem(
            profile="" if is_wishless else task.assignment.profile,
            catalog=task.assignment.catalog,
            cwd=None if task.assignment.cwd is None else Path(task.assignment.cwd),
            description=task.assignment.description,
            prompt=command.prompt,
            backend=next(same, None),
            redaction=command.redaction,
        )

    def profile_of(self, task: Task) -> Result[Profile, OhmError]:
        """Return the profile of a task as it is now."""
        return self.find(self.continuation(task, Send(id=task.id, prompt="")))

    def visible_ids(self) -> tuple[str, ...]:
        """What a caller may be told of, sorted."""
        roster = visible(self.catalog.profiles, self.config.subagents.permissions)
        return tuple(sorted(profile.id for profile in roster))


def label(backend: str, specs: Mapping[str, BackendSpec]) -> str:
    """What envelopes call a backend."""
    spec = specs.get(backend)
    return backend if spec is None else spec.label or spec.id
