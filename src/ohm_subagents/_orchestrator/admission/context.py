"""The facts of admission: the configuration, the catalogue, the plugins, and what they mean for a profile."""

from __future__ import annotations

import os
from dataclasses import field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ohm_subagents._config.env import CLONE_VARIABLE, TASK_VARIABLE
from ohm_subagents._config.tool_rules import WILDCARD
from ohm_subagents._orchestrator.admission import refusals
from ohm_subagents._orchestrator.admission.answer import unfit
from ohm_subagents._orchestrator.admission.instructions import instructions
from ohm_subagents._orchestrator.admission.launches import Launches
from ohm_subagents._orchestrator.call_context import CallContext, current_context, program_context, root_context
from ohm_subagents._plugins.backends.interface import Capability
from ohm_subagents._plugins.suites.ask_parent import UNBOUND
from ohm_subagents._plugins.suites.tool import named_tools
from ohm_subagents._policy.allowance import RunLimits, run_limits
from ohm_subagents._policy.ceiling import delegation
from ohm_subagents._policy.permissions import misspelt_denials, visible
from ohm_subagents._policy.tools import ResolvedTools, resolve_tools
from ohm_subagents._records import dataclass
from ohm_subagents.contract.call_rules import CloneOf
from ohm_subagents.contract.commands import Overrides, Send, StartItem
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.limits import Budget
from ohm_subagents.contract.profile import ASK_PARENT, fold_id
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ohm_subagents._config.schema import OhmConfig
    from ohm_subagents._config.subagents import SubagentEntry
    from ohm_subagents._plugins.backends.interface import BackendSpec
    from ohm_subagents._plugins.host.host import PluginHost
    from ohm_subagents._plugins.suites.profile_source import ProfileSource
    from ohm_subagents._plugins.suites.tool import Tool, ToolSource
    from ohm_subagents._profiles.catalog import Catalog
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.ids import CallId
    from ohm_subagents.contract.profile import Profile
    from ohm_subagents.contract.task import Assignment, Task
    from ohm_subagents.contract.tool_ceiling import Delegation, ToolCeiling


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedProfile:
    """The settings that hold for every task of a profile, whatever it is asked; with a `fault` there is none.

    `own` is what ohm.json says of the profile: nothing, of one that a suite has made for one call, whatever its id.
    """

    profile: Profile
    fault: OhmError | None
    own: SubagentEntry
    tools: Result[ResolvedTools, OhmError]
    child_tools: tuple[Tool, ...]
    passes: Delegation | None
    limits: Result[RunLimits, OhmError]
    instructions: str
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, kw_only=True)
class AdmissionContext:
    """The facts that admission decides by. All of it is immutable until the next reconfiguration, but plugins' answers.

    Fields:
        config, catalog, host, backends: the configuration, the profiles, the plugins and their backends.
        sources: the profiles of suites, by suite.
        cwd: the directory of tasks that name none.
        child_tools: the tools that plugins bring for subagents.
        depth: how many subagents this process is inside of; None if it is unknown, and then nothing may start.
        tool_sources: the sources of more such tools, by the prefix of their names.
        env: the environment that the `Ohm` was opened with.
        launches: makes the launch records.
        outlines: the newest `plan.Outline` of each profile, by its id, for items that choose nothing themselves.
        above: the ceilings that the process is under, as its environment says.
    """

    config: OhmConfig
    catalog: Catalog
    sources: Mapping[str, ProfileSource]
    host: PluginHost
    cwd: Path
    backends: Mapping[str, BackendSpec]
    child_tools: Mapping[str, Tool]
    depth: int | None
    tool_sources: Mapping[str, ToolSource] = field(default_factory=dict[str, "ToolSource"])
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    launches: Launches = field(default_factory=Launches, repr=False, compare=False)
    outlines: dict[str, object] = field(default_factory=dict[str, object], repr=False, compare=False)
    above: Delegation | None = None
    _resolved: dict[tuple[str, bool], ResolvedProfile] = field(
        default_factory=dict[tuple[str, bool], ResolvedProfile], repr=False, compare=False
    )

    def find(self, wanted: str | Profile) -> Result[Profile, OhmError]:
        """Return a profile with all that a task needs; one that the caller hands in is complete.

        Returns `unknown_subagent_type`, or the error of the suite that the profile is from.
        """
        if not isinstance(wanted, str):
            return Ok(wanted)
        found = self.catalog.find(wanted)
        if found is None:
            return Err(refusals.unknown_profile(wanted, self.visible_ids(), self.sources.values(), self._faults()))
        source = self.sources.get(found.suite)
        return Ok(found) if source is None else source.complete(found)

    def _faults(self) -> Iterator[Diagnostic]:
        """Yield the faults of the files of profiles."""
        yield from self.catalog.diagnostics
        yield from chain.from_iterable(source.diagnostics() for source in self.sources.values())

    def known_id(self, wanted: str | Profile) -> str | None:
        """Return the id of a profile that exists, though it may be refused."""
        found = self.catalog.find(wanted) if isinstance(wanted, str) else wanted
        return None if found is None else found.id

    def profile_of(self, task: Task) -> Result[Profile, OhmError]:
        """Return the profile of a task as it is now, complete."""
        source = self.sources.get(task.assignment.suite)
        if source is None:
            return self.find(task.assignment.profile)
        match source.find(task.assignment.profile):
            case Ok(found):
                return source.complete(found)
            case Err() as unknown:
                return unknown

    def resolved(self, profile: Profile, item: StartItem) -> ResolvedProfile:
        """Return what follows for the profile of an item; worked out once for as long as it is the same."""
        key = profile.id, item.has_settings
        found = self._resolved.get(key)
        if found is None or found.profile is not profile:  # two catalogues may have the id, and files are read again
            found = self._resolved[key] = self._resolve(profile, has_settings=item.has_settings)
        if item.overrides.tools and isinstance(found.tools, Err):  # it may deny one of these
            given = tuple(tool.name for tool in item.overrides.tools)
            return self._resolve(profile, has_settings=item.has_settings, of_call=given)
        return found

    def _resolve(self, profile: Profile, *, has_settings: bool, of_call: tuple[str, ...] = ()) -> ResolvedProfile:
        subagents = self.config.subagents
        own = subagents.entry(profile.id) if has_settings else subagents.unnamed
        is_agent = profile.agent is not None
        tools = resolve_tools(
            profile.tools,
            own.tools,
            offered=tuple(self.child_tools),
            only_if_named=named_tools(self.child_tools),
            sources=self.tool_sources,
            of_call=of_call,
            is_agent=is_agent,
        )
        names = () if isinstance(tools, Err) else tools.ok_value.names
        return ResolvedProfile(
            profile=profile,
            fault=unfit(profile),
            own=own,
            tools=tools,
            child_tools=tuple(
                tool for name, tool in (*self.child_tools.items(), (ASK_PARENT, UNBOUND)) if name in names
            ),
            passes=None if isinstance(tools, Err) else self._passes(profile, own, None, tools.ok_value, self.cwd),
            limits=run_limits(profile, own, self.config),
            instructions=instructions(profile, self.cwd),
            diagnostics=(
                *(Diagnostic(subject=profile.id, message=note) for note in profile.notes),
                *self._misspelt_denials(profile),
            ),
        )

    def passes(
        self, resolved: ResolvedProfile, ceiling: ToolCeiling | None, tools: ResolvedTools, cwd: Path
    ) -> Delegation | None:
        """Return the ceilings of what a run with these tools, itself under a ceiling, starts in a directory."""
        if ceiling is None and cwd is self.cwd and tools is resolved.tools.ok():
            return resolved.passes
        return self._passes(resolved.profile, resolved.own, ceiling, tools, cwd)

    def _passes(
        self, profile: Profile, own: SubagentEntry, ceiling: ToolCeiling | None, tools: ResolvedTools, cwd: Path
    ) -> Delegation:
        return delegation(
            profile,
            tools,
            ceiling,
            delegate=profile.delegate if own.delegate is None else map(fold_id, own.delegate),
            unasked=(*named_tools(self.child_tools), *(f"{prefix}{WILDCARD}" for prefix in self.tool_sources)),
            cwd=cwd,
        )

    def _misspelt_denials(self, profile: Profile) -> tuple[Diagnostic, ...]:
        """Return a diagnostic for each rule that was perhaps meant to deny this profile, and names none."""
        permissions = self.config.subagents.permissions
        if not permissions.subagents:
            return ()
        names = chain.from_iterable(source.names() for source in self.sources.values())
        known = {*self.catalog.available(), *names}
        return misspelt_denials(profile, permissions, known, unlisted=self.sources)

    def limits(self, resolved: ResolvedProfile, asked: Overrides) -> Result[RunLimits, OhmError]:
        """Return the limits of a run with these choices of a call."""
        if asked.limits is None and asked.loop is None:
            return resolved.limits
        return run_limits(resolved.profile, resolved.own, self.config, limits=asked.limits, loop=asked.loop)

    def caller(self, max_depth: int | None = None, call: CallId | None = None) -> CallContext:
        """Return the context of the code that calls: its task's, else that of a program, under the configured budget.

        `max_depth` replaces the configured number of levels for a program. `call` is the id of the program's call.
        """
        current = current_context.get() or program_context(partial(self._root, max_depth))
        return current if call is None else current._replace(call=call)

    def _root(self, max_depth: int | None) -> CallContext:
        budget = self._root_budget if max_depth is None else self._rooted_budget(max_depth)
        above = TaskId(self.env.get(TASK_VARIABLE, "")) or None
        return root_context(budget, level=self.depth or 0, passes=self.above, outside=above, clone=self._clone_around)

    @cached_property
    def _clone_around(self) -> CloneOf | None:
        """The clone that this process was started in as part of a run; None where it works elsewhere."""
        top = self.env.get(CLONE_VARIABLE)
        real = os.path.realpath(top) if top else None
        return CloneOf(original=real, clone=real) if real and self.cwd.resolve().is_relative_to(real) else None

    @cached_property
    def _root_budget(self) -> Budget:
        return self._rooted_budget(None)

    def _rooted_budget(self, max_depth: int | None) -> Budget:
        budget = Budget(depth=max_depth).over(self.config.subagents.tree_budget())
        return Budget(depth=0).over(budget) if self.depth is None else budget

    def unkept(self, item: StartItem) -> tuple[str, ...]:
        """Return the options of an item that no store keeps: a profile that nobody else knows, and functions."""
        profile = item.profile
        is_own = not isinstance(profile, str) and not profile.suite and self.catalog.find(profile.id) != profile
        return ("profile",) * is_own + ("tools",) * bool(item.overrides.tools)

    @cached_property
    def attaching(self) -> frozenset[str]:
        """The backends of the configuration that go on with the runs of a process that has died."""
        configured = {self.config.subagent_backend, *self.config.subagents.backends}
        specs = (spec for name, spec in self.backends.items() if name in configured)
        return frozenset(spec.id for spec in specs if Capability.ATTACHES in spec.capabilities)

    def continuation(self, task: Task, command: Send) -> StartItem:
        """Return the item that continues a settled task: as far as its record shows, it runs as the task did."""
        item = self._recorded(task, command) if command.item is None else command.item
        tools = item.overrides.tools if command.tools is None else command.tools
        return replace(
            item,
            profile=command.profile or item.profile,
            prompt=command.prompt,
            overrides=replace(item.overrides, tools=tools),
            preface="",
            session=None,
            redaction=command.redaction,
        )

    def _recorded(self, task: Task, command: Send) -> StartItem:
        """Return the item that the record of a task shows, refused where that lacks what the command does not give."""
        asked = task.assignment
        given = {"profile": command.profile, "tools": command.tools}
        lacking = [name for name in asked.unkept if given[name] is None]
        found = Ok(command.profile) if command.profile else self.profile_of(task)
        refusal = refusals.unkept(task, lacking) if lacking else found.err_value if isinstance(found, Err) else None
        return StartItem(
            profile=found.ok_value if asked.suite and isinstance(found, Ok) else asked.profile,
            refusal=refusal,
            description=asked.description,
            prompt=command.prompt,
            overrides=Overrides() if task.launch is not None else self._unrecorded(asked),
        )

    def _unrecorded(self, asked: Assignment) -> Overrides:
        """Return the choices of a task that has no launch record."""
        same = (spec.id for spec in self.backends.values() if asked.backend in {spec.label, spec.id})
        return Overrides(backend=next(same, None), cwd=None if asked.cwd is None else Path(asked.cwd))

    def visible_ids(self) -> tuple[str, ...]:
        """Return the ids that a caller may see, sorted."""
        roster = visible(self.catalog.profiles, self.config.subagents.permissions)
        return tuple(sorted(profile.id for profile in roster))


def label(backend: str, specs: Mapping[str, BackendSpec]) -> str:
    """Return the name of a backend in envelopes."""
    spec = specs.get(backend)
    return backend if spec is None else spec.label or spec.id
