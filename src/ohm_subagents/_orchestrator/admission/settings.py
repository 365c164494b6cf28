"""Decide the settings of an item: tools, limits, model, backend and directory."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ohm_subagents._orchestrator.admission import refusals
from ohm_subagents._orchestrator.admission.call_tools import call_ceiling, given_tools, kept_tools
from ohm_subagents._orchestrator.admission.launches import FileSettings, Settings
from ohm_subagents._orchestrator.admission.model_order import named_model
from ohm_subagents._policy.ceiling import met
from ohm_subagents._policy.permissions import may_run
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.model_pattern import parse_model_pattern
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.sandbox import strictest
from ohm_subagents.contract.workspace import strictest_isolation, strictest_landing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ohm_subagents._config.schema import OhmConfig
    from ohm_subagents._config.subagents import SubagentEntry
    from ohm_subagents._orchestrator.admission.context import AdmissionContext, ResolvedProfile
    from ohm_subagents._orchestrator.admission.inheritance import Inheritance
    from ohm_subagents._orchestrator.call_context import SharedClone
    from ohm_subagents._policy.allowance import RunLimits
    from ohm_subagents._policy.tools import ResolvedTools
    from ohm_subagents.contract.acceptance import Acceptance
    from ohm_subagents.contract.commands import Overrides
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.model_pattern import ModelPattern
    from ohm_subagents.contract.profile import Decision, Profile
    from ohm_subagents.contract.tool_ceiling import ToolCeiling
    from ohm_subagents.contract.workspace import Isolation, Land


class Bounds(NamedTuple):
    """The tools and the limits of an item, and the rule that lets it run.

    Fields:
        profile: the profile that does the work.
        tools, limits: the child tools with their rules, and everything that bounds a run.
        rule: the rule that lets the profile run.
        ceiling: the most that the tools may do, by what starts it and by the call.
    """

    profile: Profile
    tools: ResolvedTools
    limits: RunLimits
    rule: Decision
    ceiling: ToolCeiling | None


def bounds_of(
    asked: Overrides, resolved: ResolvedProfile, context: AdmissionContext, ceiling: ToolCeiling | None
) -> Result[Bounds, OhmError]:
    """Return what bounds an item of a known profile, or why it may not run, whatever plugins say."""
    profile, config = resolved.profile, context.config
    if profile.feature is not None and not config.features.is_on(profile.feature):
        return Err(refusals.feature_off(profile.id, profile.feature))
    if isinstance(resolved.tools, Err):
        return resolved.tools
    limits = context.limits(resolved, asked)
    if isinstance(limits, Err):
        return limits
    verdict = may_run(profile=profile, permissions=config.subagents.permissions, opinions=tuple)
    if isinstance(verdict, Err):
        return verdict
    narrowed = call_ceiling(asked, resolved, context)
    if isinstance(narrowed, Err):
        return narrowed
    own = narrowed.ok_value
    tools = given_tools(resolved.tools.ok_value, asked, resolved, context, narrowed=own, ceiling=ceiling)
    return Ok(Bounds(profile, tools, limits.ok_value, verdict.ok_value, met(ceiling, own)))


def settings_of(
    asked: Overrides, bounds: Bounds, resolved: ResolvedProfile, context: AdmissionContext, inherited: Inheritance
) -> Result[Settings, OhmError]:
    """Decide how the runs of an item of a known profile are to be made, or why it may not run."""
    profile, config, tools = resolved.profile, context.config, bounds.tools
    if inherited.granted:
        tools = replace(tools, diagnostics=(*inherited.granted, *tools.diagnostics))
    model = named_model(asked.model, profile, resolved.own, config.subagents, _parent(asked, inherited.model))
    if isinstance(model, Err):
        return model
    backend = backend_of(profile, resolved.own, config) if asked.backend is None else asked.backend
    spec = context.backends.get(backend)
    return Ok(
        Settings(
            profile=profile,
            backend=backend,
            spec=spec,
            named=model.ok_value,
            strict_model=_is_strict(asked, resolved, config),
            sandbox=strictest(
                asked.sandbox, inherited.sandbox, resolved.own.sandbox, profile.sandbox, config.subagents.sandbox
            ),
            tools=kept_tools(tools, spec),
            limits=bounds.limits,
            permission=bounds.rule.source,
            cwd=_placed(asked.cwd or context.cwd, inherited.clone),
            files=FileSettings(
                isolation="none" if inherited.clone is not None else _isolation(asked, resolved, config),
                land=_land(asked, resolved, config, inherited),
                around=inherited.clone,
                includes=config.subagents.clone_includes,
            ),
            ceiling=bounds.ceiling,
            accept=_accept(asked, profile),
        )
    )


def _parent(asked: Overrides, parent: Callable[[], ModelPattern | None]) -> Callable[[], ModelPattern | None]:
    """Return what knows the model of the parent: the call, else the task that calls."""
    if asked.parent_model is None:
        return parent
    said = parse_model_pattern(asked.parent_model)
    return lambda: said.ok() or parent()


def _accept(asked: Overrides, profile: Profile) -> Acceptance | None:
    """Return the checks of the profile and of the call together."""
    return asked.accept if profile.accept is None else profile.accept.joined(asked.accept)


def _is_strict(asked: Overrides, resolved: ResolvedProfile, config: OhmConfig) -> bool:
    """Return True if no other model may answer than the one that is asked for; the first that says so counts."""
    said = asked.strict_model
    if said is None:
        said = resolved.own.strict_model
    if said is None:
        said = resolved.profile.strict_model
    return config.subagents.strict_model if said is None else said


def _isolation(asked: Overrides, resolved: ResolvedProfile, config: OhmConfig) -> Isolation:
    """Return the isolation of an item: a clone if anything demands one.

    The entry of the subagent alone can lift what its profile and all subagents demand; a call cannot.
    """
    if resolved.own.isolation is not None:
        return strictest_isolation(asked.isolation, resolved.own.isolation)
    return strictest_isolation(asked.isolation, resolved.profile.isolation, config.subagents.isolation)


def _land(asked: Overrides, resolved: ResolvedProfile, config: OhmConfig, inherited: Inheritance) -> Land:
    """Return the landing of an item, the strictest that is said; a subagent only forbids it.

    The entry of the subagent alone can lift what its profile and all subagents say; a call cannot.
    """
    if inherited.clone is not None:
        return "never"
    called = asked.land if asked.land == "never" or not inherited.by_subagent else None
    if resolved.own.land is not None:
        return strictest_landing(called, resolved.own.land)
    return strictest_landing(called, resolved.profile.land, config.subagents.land)


def in_vain(asked: Overrides, settings: Settings) -> Iterator[Diagnostic]:
    """Yield what a call is told that asks for less than is demanded, or for a landing where there is none."""
    files = settings.files
    if asked.sandbox not in {None, settings.sandbox}:
        told = f"sandbox '{asked.sandbox}' has no effect: '{settings.sandbox}' is demanded"
        by = "by the profile, ohm.json, the session or the task that starts it."
        yield Diagnostic(subject="sandbox", message=f"{told} {by}", severity="info")
    if asked.isolation == "none" and files.isolation == "clone":
        told = "isolation 'none' has no effect: the profile, ohm.json or the session demands a clone."
        yield Diagnostic(subject="workspace", message=told, severity="info")
    if asked.land not in {None, "never", files.land}:
        why = "says 'ask'" if files.land == "ask" else "says 'never', or a subagent asks for it"
        told = f"land '{asked.land}' has no effect: the profile or ohm.json {why}."
        yield Diagnostic(subject="workspace", message=told)


def _placed(cwd: Path, around: SharedClone | None) -> Path:
    """Return a directory as the task that calls sees it, which may work in a clone."""
    if around is None or not (real := Path(os.path.realpath(cwd))).is_relative_to(around.place.original):
        return cwd
    return Path(around.place.clone) / real.relative_to(around.place.original)


def backend_of(profile: Profile, own: SubagentEntry, config: OhmConfig) -> str:
    """Return the backend of a call that names none."""
    return own.backend or profile.backend or config.subagent_backend
