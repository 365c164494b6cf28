"""Admission of one item: profile, feature, permission, tools, model and limits, decided before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ohm_subagents._orchestrator.admission import refusals
from ohm_subagents._orchestrator.admission.answer import unsupported
from ohm_subagents._orchestrator.admission.call_tools import child_tools, rules_in_force, unasked, ungiven, unruled
from ohm_subagents._orchestrator.admission.checks import refused_check
from ohm_subagents._orchestrator.admission.context import label
from ohm_subagents._orchestrator.admission.inheritance import NOTHING_INHERITED, inheritance
from ohm_subagents._orchestrator.admission.instructions import instructions
from ohm_subagents._orchestrator.admission.items import profile_of
from ohm_subagents._orchestrator.admission.model_order import uninherited
from ohm_subagents._orchestrator.admission.relaunch import Relaunch
from ohm_subagents._orchestrator.admission.settings import bounds_of, in_vain, settings_of
from ohm_subagents._orchestrator.admission.sourced_tools import SourcedTools, sourced_tools, ungiven_sources
from ohm_subagents._plugins.backends.interface import Capability
from ohm_subagents._plugins.backends.pool import unsupported as unsupported_backend
from ohm_subagents._plugins.backends.request import RunSpec
from ohm_subagents._policy.permissions import overruled
from ohm_subagents.contract.activity import changed
from ohm_subagents.contract.commands import NO_OVERRIDES
from ohm_subagents.contract.limits import NO_BUDGET
from ohm_subagents.contract.profile import FINALIZE, PermissionRequest, Profile
from ohm_subagents.contract.replies import ItemRejected
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.sandbox import Sandbox

if TYPE_CHECKING:
    from ohm_subagents._orchestrator.admission.context import AdmissionContext, ResolvedProfile
    from ohm_subagents._orchestrator.admission.inheritance import Inheritance
    from ohm_subagents._orchestrator.admission.launches import Settings
    from ohm_subagents._orchestrator.admission.settings import Bounds
    from ohm_subagents._orchestrator.call_context import CallContext
    from ohm_subagents.contract.commands import Overrides, StartItem
    from ohm_subagents.contract.diagnostics import Diagnostic
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.launch import LaunchRecord
    from ohm_subagents.contract.limits import Budget, Clocks
    from ohm_subagents.contract.model_route import ModelRoute
    from ohm_subagents.contract.task import Task
    from ohm_subagents.contract.workspace import Cloning

_NONE: Final[frozenset[Capability]] = frozenset()


class Plan(NamedTuple):
    """The way in which the runs of an admitted item go.

    Fields:
        item: the item as it was asked for.
        spec: what a backend may know of it.
        backend, label: the id of the backend, and what envelopes call it.
        limits: of each run.
        budget: of the task with all that it starts; None for no budget.
        max_events: how many events the task keeps.
        diagnostics: what is not done as asked.
        capabilities: what the backend does beyond one prompt, one answer.
        launch: the record of all this that is kept with the task.
        sourced: the tools that each run asks sources for; None for none.
        route: the models that may do the work, the first one in `spec`; None where no other may.
        unkept: the options of the call that no store keeps (`Assignment.unkept`).
        cloning: the clone of the files for its runs; None for none.
        former: the settled task of the session that this one continues.
    """

    item: StartItem
    spec: RunSpec
    backend: str
    label: str
    limits: Clocks
    budget: Budget | None
    max_events: int
    diagnostics: tuple[Diagnostic, ...]
    capabilities: frozenset[Capability]
    launch: LaunchRecord
    sourced: SourcedTools | None = None
    unkept: tuple[str, ...] = ()
    route: ModelRoute | None = None
    cloning: Cloning | None = None
    former: Task | None = None

    @property
    def can_steer(self) -> bool:
        """Return True if the backend takes follow-ups into the run that goes on."""
        return Capability.STEERING in self.capabilities

    @property
    def can_attach(self) -> bool:
        """Return True if the backend goes on with a run whose process has died."""
        return Capability.ATTACHES in self.capabilities

    @property
    def owner(self) -> str:
        """Return what errors call it whose budget is spent."""
        return f"subagent '{self.profile.id}'"

    @property
    def counts_usage(self) -> bool:
        """Return True if the backend reports what it uses."""
        return Capability.USAGE in self.capabilities

    @property
    def traces_itself(self) -> bool:
        """Return True if the backend makes spans of its own."""
        return Capability.TRACES in self.capabilities

    @property
    def profile(self) -> Profile:
        """Return the profile that does the work."""
        return self.spec.profile


class Outline(NamedTuple):
    """Everything that is decided about an item whatever its texts are, and whatever plugins say.

    Fields:
        resolved: the profile, and what follows for it.
        bounds: what bounds it, or why it may not run.
        plan: how it runs, or why it cannot be done; without the texts of the item.
    """

    resolved: ResolvedProfile
    bounds: Result[Bounds, OhmError]
    plan: Result[Plan, OhmError]


def plan(
    item: StartItem,
    context: AdmissionContext,
    *,
    prompt: str | None = None,
    caller: CallContext | None = None,
    former: Task | None = None,
) -> Result[Plan, ItemRejected]:
    """Plan how an item runs, or refuse it.

    `prompt` is that of a follow-up, which is admitted like the item. Its tools do no more than those of the run that is
    the `caller`, and than those of `former`, which it continues. If that is settled, it has the settings of its launch
    record, as `Relaunch` applies them.

    The first of these refuses it, in this order:

    - a blank prompt or description, values of a wrong type, the suite (`StartItem.refusal`), a `cwd` that is no
      absolute directory, an unknown profile;
    - a feature that is off, tools that a profile may not have, limits that no run could have;
    - routing to internal profiles, a rule of ohm.json, a plugin's `ohm_permission`;
    - the model;
    - a backend of the call that no plugin offers, settings of the profile that cannot be read, an answer that the
      backend cannot hand in, a tool of the call that it cannot give, that is called like another one or is denied,
      rules for calls that it cannot keep, a check that may not run, a directory that cannot be read.
    """
    prompt = item.prompt if prompt is None else prompt
    found = profile_of(item, prompt, context)
    if isinstance(found, Err):
        return found
    profile = found.ok_value
    outline = _outline(item, context.resolved(profile, item), context, caller, former)
    if (refused := _refused(item, prompt, outline, context)) is not None:
        return Err(ItemRejected(item=item, error=refused, profile=profile.id, invocation=item.invocation))
    planned = outline.plan.unwrap()
    spec = changed(planned.spec, description=item.description, is_one_shot=item.is_one_shot)
    return Ok(planned._replace(item=item, spec=spec, unkept=context.unkept(item)))


def _refused(item: StartItem, prompt: str, outline: Outline, context: AdmissionContext) -> OhmError | None:
    """Return why an item may not run: by its outline, or by what may be otherwise at each start."""
    bounds, planned = outline.bounds, outline.plan
    if isinstance(bounds, Err):
        return bounds.err_value
    profile, asked = bounds.ok_value.profile, item.overrides
    request = PermissionRequest(
        profile=profile,
        description=item.description,
        prompt=prompt,
        cwd=asked.cwd or context.cwd,
        tools=bounds.ok_value.tools.shown,
    )
    overruled_by = overruled(profile, context.config.subagents.permissions, context.host.permission(request))
    if overruled_by is not None or isinstance(planned, Err):
        return overruled_by or planned.err()
    matters = asked.cwd is not None or Capability.FILES in planned.ok_value.capabilities
    return refusals.directory_fault(planned.ok_value.spec.cwd) if matters else None


def _outline(
    item: StartItem,
    resolved: ResolvedProfile,
    context: AdmissionContext,
    caller: CallContext | None,
    former: Task | None,
) -> Outline:
    """Return the outline of an item; of those that choose nothing themselves, it is made once a profile."""
    launch, asked = None if former is None else former.launch, item.overrides
    ceiling = None if launch is None else launch.ceiling
    inherited = inheritance(caller, ceiling, resolved.profile, is_named=item.has_settings)
    if former is not None or asked is not NO_OVERRIDES or inherited is not NOTHING_INHERITED:
        return _outlined(item, resolved, context, inherited, former)
    newest = context.outlines.get(resolved.profile.id)
    if not (isinstance(newest, Outline) and newest.resolved is resolved):
        newest = context.outlines[resolved.profile.id] = _outlined(item, resolved, context, inherited, None)
    return newest


def _outlined(
    item: StartItem, resolved: ResolvedProfile, context: AdmissionContext, inherited: Inheritance, former: Task | None
) -> Outline:
    bounds = bounds_of(item.overrides, resolved, context, inherited.ceiling)
    if isinstance(bounds, Err):
        return Outline(resolved, bounds, bounds)
    settings = settings_of(item.overrides, bounds.ok_value, resolved, context, inherited)
    planned = settings if isinstance(settings, Err) else _planned(item, settings.ok_value, resolved, context, former)
    return Outline(resolved, bounds, planned)


def _planned(
    item: StartItem, settings: Settings, resolved: ResolvedProfile, context: AdmissionContext, former: Task | None
) -> Result[Plan, OhmError]:
    """Plan how an item with these settings runs, or why it cannot be done; its texts are left out."""
    told: tuple[Diagnostic, ...] = ()
    if former is not None and former.launch is not None and former.is_terminal:
        settings, told = Relaunch(former, former.launch, item).applied(settings, context.backends)
    config, tools, limits, spec = context.config, settings.tools, settings.limits, settings.spec
    unable = _unable(item, settings, resolved, context)
    if unable is not None:
        return Err(unable)
    return Ok(
        Plan(
            item=item,
            spec=_run_spec(item.overrides, settings, resolved, context),
            backend=settings.backend,
            label=label(settings.backend, context.backends),
            limits=limits.clocks,
            budget=None if limits.budget is NO_BUDGET else limits.budget,
            max_events=config.task_max_events,
            diagnostics=(
                *told,
                *resolved.diagnostics,
                *tools.diagnostics,
                *unasked(tools, spec),
                *ungiven_sources(tools, settings.profile, spec),
                *uninherited(item.overrides.model, settings.named),
                *in_vain(item.overrides, settings),
            ),
            capabilities=_NONE if spec is None else spec.capabilities,
            sourced=sourced_tools(tools, context, spec),
            route=None if settings.named is None else settings.named.route,
            launch=context.launches.of(settings),
            cloning=settings.files.cloning,
            former=former,
        )
    )


def _run_spec(asked: Overrides, settings: Settings, resolved: ResolvedProfile, context: AdmissionContext) -> RunSpec:
    """Return what a backend may know of the runs of an item, but its texts."""
    profile, tools, cwd = settings.profile, settings.tools, settings.cwd
    return RunSpec(
        profile=profile,
        description="",
        instructions=resolved.instructions if cwd is context.cwd else instructions(profile, cwd),
        cwd=cwd,
        tools=_with_finalize(profile, tools.names),
        tools_are_bounded=tools.are_bounded or any(not one.is_default for one in tools.call_rules),
        call_rules=rules_in_force(tools, context.config.subagents.requests.unattended),
        passes=context.passes(resolved, settings.ceiling, tools, cwd),
        child_tools=child_tools(tools, asked, resolved, context),
        model=settings.model,
        mode=context.config.default_mode,
        env=context.env,
        sandbox=Sandbox(mode=settings.sandbox, rules=context.config.subagents.sandbox_rules.rules()),
    )


def _unable(
    item: StartItem, settings: Settings, resolved: ResolvedProfile, context: AdmissionContext
) -> OhmError | None:
    """Return why an item that is allowed cannot be done: a setting, the answer, a tool or a rule."""
    spec, profile, asked = settings.spec, resolved.profile, item.overrides
    if spec is None and asked.backend is not None:  # one that is configured fails the run: a plugin may yet offer it
        return unsupported_backend(asked.backend, context.backends)
    if settings.files.isolation == "clone" and spec is not None and Capability.ATTACHES in spec.capabilities:
        return refusals.unisolated(spec.id)
    unable = resolved.fault or unsupported(profile, spec) or ungiven(asked, resolved, context.child_tools, spec)
    unattended = context.config.subagents.requests.unattended
    unable = unable or unruled(profile, settings.tools, spec, unattended)
    return unable or refused_check(settings, resolved, unattended)


def _with_finalize(profile: Profile, names: tuple[str, ...]) -> tuple[str, ...]:
    """Add the tool that hands in an answer where the profile demands one, whatever its lists name."""
    return (*names, FINALIZE) if profile.finalize and FINALIZE not in names else names
