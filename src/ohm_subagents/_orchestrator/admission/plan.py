"""Admission of one item: profile, feature, permission, tools, model and limits, decided before anything runs."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from ohm_subagents._orchestrator.admission import refusals
from ohm_subagents._orchestrator.admission.answer import unsupported
from ohm_subagents._orchestrator.admission.call_tools import ungiven, with_call_tools
from ohm_subagents._orchestrator.admission.context import label
from ohm_subagents._orchestrator.admission.instructions import instructions
from ohm_subagents._orchestrator.admission.model_order import named_model
from ohm_subagents._orchestrator.admission.sourced_tools import SourcedTools, sourced_tools, ungiven_sources
from ohm_subagents._plugins.backends.interface import Capability
from ohm_subagents._plugins.backends.request import RunSpec
from ohm_subagents._policy.permissions import may_run
from ohm_subagents.contract.call_rules import RULED_TOOL
from ohm_subagents.contract.commands import StartItem, check_cwd
from ohm_subagents.contract.limits import NO_BUDGET, Limits, LoopPolicy
from ohm_subagents.contract.profile import FINALIZE, PermissionRequest, Profile
from ohm_subagents.contract.replies import ItemRejected
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from pathlib import Path

    from ohm_subagents._config.schema import OhmConfig
    from ohm_subagents._config.subagents import SubagentEntry
    from ohm_subagents._orchestrator.admission.context import AdmissionContext, ResolvedProfile
    from ohm_subagents._plugins.backends.interface import BackendSpec
    from ohm_subagents._plugins.suites.tool import Tool
    from ohm_subagents._policy.allowance import RunLimits
    from ohm_subagents._policy.tools import ResolvedTools
    from ohm_subagents.contract.commands import Overrides
    from ohm_subagents.contract.diagnostics import Diagnostic
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.limits import Budget, Clocks

_NONE: Final[frozenset[Capability]] = frozenset()


class Plan(NamedTuple):
    """The way in which the runs of an admitted item go.

    Fields:
        item: the item as it was asked for.
        spec: what a backend may know of it.
        backend, label: the id of the backend, and what envelopes call it.
        limits, loop: of each run.
        budget: of the task with all that it starts; None for no budget.
        max_events: how many events the task keeps.
        diagnostics: what is not done as asked.
        can_steer: the backend takes follow-ups into the run that goes on.
        counts_usage: the backend reports what it uses.
        traces_itself: the backend makes spans of its own.
        sourced: the tools that each run asks sources for; None for none.
        unkept: the options of the call that no store keeps (`Assignment.unkept`).
    """

    item: StartItem
    spec: RunSpec
    backend: str
    label: str
    limits: Clocks
    loop: LoopPolicy
    budget: Budget | None
    max_events: int
    diagnostics: tuple[Diagnostic, ...]
    can_steer: bool
    counts_usage: bool
    traces_itself: bool
    sourced: SourcedTools | None = None
    unkept: tuple[str, ...] = ()

    @property
    def profile(self) -> Profile:
        """Return the profile that does the work."""
        return self.spec.profile


def plan(item: StartItem, context: AdmissionContext, *, prompt: str | None = None) -> Result[Plan, ItemRejected]:
    """Plan how an item runs, or refuse it. `prompt` is that of a follow-up, which is admitted like the item.

    The first of these refuses it, in this order:

    - a blank prompt or description, values of a wrong type, the suite (`StartItem.refusal`), a `cwd` that is no
      absolute directory, an unknown profile;
    - a feature that is off, tools that a profile may not have, limits that no run could have;
    - routing to internal profiles, a rule of ohm.json, a plugin's `ohm_permission`;
    - the model;
    - settings of the profile that cannot be read, an answer that the backend cannot hand in, a tool of the call that
      the backend cannot give, that is called like another one or is denied, rules for commands that the backend
      cannot keep, a directory that cannot be read.
    """
    prompt = item.prompt if prompt is None else prompt
    found = _profile_of(item, prompt, context)
    if isinstance(found, Err):
        return found
    profile = found.ok_value
    planned = _planned(item, prompt, context.resolved(profile, item), context)
    if isinstance(planned, Err):
        error = planned.err_value
        return Err(ItemRejected(item=item, error=error, profile=profile.id, invocation=item.invocation))
    return planned


def _planned(
    item: StartItem, prompt: str, resolved: ResolvedProfile, context: AdmissionContext
) -> Result[Plan, OhmError]:
    """Plan how an item of a known profile runs."""
    profile, asked, config = resolved.profile, item.overrides, context.config
    cwd = asked.cwd or context.cwd
    allowed = _allowed(item, prompt, cwd, resolved, context)
    if isinstance(allowed, Err):
        return allowed
    tools, limits = allowed.ok_value
    model = named_model(asked.model, profile, resolved.own, config.subagents.model)
    if isinstance(model, Err):
        return model
    backend = backend_of(profile, resolved.own, config) if asked.backend is None else asked.backend
    spec = context.backends.get(backend)
    capabilities = _NONE if spec is None else spec.capabilities
    unable = _unable(item, tools, resolved, context, spec)
    if unable is not None:
        return Err(unable)
    return Ok(
        Plan(
            item=item,
            spec=RunSpec(
                profile=profile,
                description=item.description,
                instructions=resolved.instructions if asked.cwd is None else instructions(profile, asked.cwd),
                cwd=cwd,
                tools=_with_finalize(profile, tools.names),
                tools_are_bounded=tools.are_bounded or bool(tools.call_rules),
                call_rules=tools.call_rules,
                child_tools=(*_child_tools(tools, asked, resolved, context), *cast("tuple[Tool, ...]", asked.tools)),
                model=None if model.ok_value is None else model.ok_value.pattern,
                mode=config.default_mode,
                is_one_shot=item.is_one_shot,
                env=context.env,
            ),
            backend=backend,
            label=label(backend, context.backends),
            limits=limits.clocks,
            loop=limits.loop,
            budget=None if limits.budget is NO_BUDGET else limits.budget,
            max_events=config.task_max_events,
            diagnostics=(*resolved.diagnostics, *tools.diagnostics, *ungiven_sources(tools, profile, spec)),
            can_steer=Capability.STEERING in capabilities,
            counts_usage=Capability.USAGE in capabilities,
            traces_itself=Capability.TRACES in capabilities,
            sourced=sourced_tools(tools, context, spec),
            unkept=context.unkept(item),
        )
    )


def _allowed(
    item: StartItem, prompt: str, cwd: Path, resolved: ResolvedProfile, context: AdmissionContext
) -> Result[tuple[ResolvedTools, RunLimits], OhmError]:
    """Return the tools and limits of an item, or why it may not run: its feature, tools, limits or a permission."""
    profile, config = resolved.profile, context.config
    if profile.feature is not None and not config.features.is_on(profile.feature):
        return Err(refusals.feature_off(profile.id, profile.feature))
    if isinstance(resolved.tools, Err):
        return resolved.tools
    limits = context.limits(resolved, item)
    if isinstance(limits, Err):
        return limits
    tools = resolved.tools.ok_value
    if item.overrides.tools or item.overrides.tool_names:
        tools = with_call_tools(tools, item.overrides, resolved, context)
    request = PermissionRequest(
        profile=profile,
        description=item.description,
        prompt=prompt,
        cwd=cwd,
        tools=tools.shown,
    )
    verdict = may_run(
        profile=profile, permissions=config.subagents.permissions, opinions=partial(context.host.permission, request)
    )
    return verdict if isinstance(verdict, Err) else Ok((tools, limits.ok_value))


def _unable(
    item: StartItem,
    tools: ResolvedTools,
    resolved: ResolvedProfile,
    context: AdmissionContext,
    spec: BackendSpec | None,
) -> OhmError | None:
    """Return why an item that is allowed cannot be done: a setting, the answer, a tool, a rule or the directory."""
    unable = resolved.fault or unsupported(resolved.profile, spec)
    unable = unable or ungiven(item.overrides.tools, resolved, context.child_tools, spec)
    unable = unable or _unruled(resolved.profile, tools, spec)
    cwd = item.overrides.cwd or context.cwd
    if unable is None and spec is not None and Capability.FILES in spec.capabilities and not _is_readable(cwd):
        return refusals.unreadable(cwd)
    return unable


def _unruled(profile: Profile, tools: ResolvedTools, spec: BackendSpec | None) -> OhmError | None:
    """Return an error if there are rules for the commands of a tool that is given, and the backend cannot keep them."""
    if not tools.call_rules or RULED_TOOL not in tools.names or spec is None:
        return None
    return None if Capability.CALL_RULES in spec.capabilities else refusals.rules_unsupported(profile.id, spec.id)


def _child_tools(
    tools: ResolvedTools, asked: Overrides, resolved: ResolvedProfile, context: AdmissionContext
) -> tuple[Tool, ...]:
    """Return the tools of plugins that are given, those that the call names among them."""
    if not asked.tool_names:
        return resolved.child_tools
    return tuple(tool for name, tool in context.child_tools.items() if name in tools.names)


def backend_of(profile: Profile, own: SubagentEntry, config: OhmConfig) -> str:
    """Return the backend of a call that names none."""
    return own.backend or profile.backend or config.subagent_backend


def _profile_of(item: StartItem, prompt: str, context: AdmissionContext) -> Result[Profile, ItemRejected]:
    """Return the profile of an item, complete; an item that is unusable, or that its suite refuses, has none."""
    unusable = _wordless(item, prompt) or _mistyped(item)
    if unusable is not None:
        return Err(ItemRejected(item=item, error=unusable))
    refusal = item.refusal or check_cwd(item.overrides.cwd)
    found = context.find(item.profile) if refusal is None else Err(refusal)
    if isinstance(found, Err):
        return Err(ItemRejected(item=item, error=found.err_value, profile=context.known_id(item.profile)))
    schema = item.overrides.result_schema
    return found if schema is None else Ok(replace(found.ok_value, finalize="required", result_schema=schema))


def _with_finalize(profile: Profile, names: tuple[str, ...]) -> tuple[str, ...]:
    """Add the tool that hands in an answer where the profile demands one, whatever its lists name."""
    return (*names, FINALIZE) if profile.finalize and FINALIZE not in names else names


def _wordless(item: StartItem, prompt: str) -> OhmError | None:
    """Return an error for the first text that is blank."""
    if not _is_text(prompt):
        return refusals.unusable("prompt", prompt)
    return None if _is_text(item.description) else refusals.unusable("description", item.description)


def _mistyped(item: StartItem) -> OhmError | None:
    """Return an error for a value that is no profile, no `Limits` or no `LoopPolicy`."""
    asked = item.overrides
    if not isinstance(cast("object", item.profile), str | Profile):
        return refusals.no_profile(item.profile)
    return refusals.mistyped("limits", asked.limits, Limits) or refusals.mistyped("loop", asked.loop, LoopPolicy)


def _is_text(value: object) -> bool:
    try:
        return isinstance(value, str) and bool(value.strip()) and bool(value.encode())
    except UnicodeEncodeError:
        return False


def _is_readable(cwd: Path) -> bool:
    return os.path.isdir(cwd) and os.access(cwd, os.R_OK | os.X_OK)
