"""The suites of an `Ohm`: those for its host, and those for its subagents."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from ohm_subagents._config.load import DEFAULT, NO_BACKGROUND
from ohm_subagents._config.tool_rules import ToolRules, fold_tool
from ohm_subagents._plugins.suites.settings import Settings
from ohm_subagents._records import dataclass
from ohm_subagents._tools.mounting import PRIMARY, SHARED, Mounted, mount, name_beside
from ohm_subagents.contract.profile import ASK_PARENT, CHILD_TOOLS, FINALIZE
from ohm_subagents.contract.workspace import strictest_isolation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ohm_subagents._config.schema import OhmConfig
    from ohm_subagents._plugins.suites.interface import (
        DiagnosticSource,
        EventHandler,
        HostDoor,
        SuiteContext,
        ToolSuiteSpec,
    )
    from ohm_subagents._plugins.suites.tool import ToolSource
    from ohm_subagents._views.theme import Theme
    from ohm_subagents.contract.diagnostics import Diagnostic
    from ohm_subagents.contract.profile import Profile

TASK: Final = "task"
"""The orchestration tool, and the only suite that may offer it."""
NOTHING: Final = Mounted(tools={}, suites={}, diagnostics=())


@dataclass(frozen=True, slots=True, kw_only=True)
class MountedSuites:
    """The suites for the parent, and those for children."""

    parent: Mounted = NOTHING
    child: Mounted = NOTHING
    sources: Mapping[str, ToolSource] = field(default_factory=dict[str, "ToolSource"])
    """The sources of more tools for children, by the prefix of their names."""

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Return what could not be mounted."""
        return (*self.child.diagnostics, *self.parent.diagnostics)


def settings_of(config: OhmConfig, suite: str, profiles: Callable[[], Iterable[Profile]]) -> Settings:
    """Return the part of the configuration that one suite may know; `profiles` are the visible ones."""
    starts_async = config.subagents.async_start == "allow"
    goes_on = config.subagents.background_after_ms is not None
    return Settings(
        output_max_chars=config.output_max_chars,
        onupdate_throttle_ms=config.onupdate_throttle_ms,
        debug=config.debug,
        transcript_tail_lines=config.transcript_tail_lines,
        result_preview_lines=config.result_preview_lines,
        options=config.suite_options.get(suite, {}),
        starts_async=starts_async,
        goes_on=starts_async and goes_on,
        unheeded=(NO_BACKGROUND,) if goes_on and not starts_async else (),
        answers=starts_async and any(_may_ask(profile, config) for profile in profiles()),
        lands=any(_may_be_apart(profile, config) for profile in profiles()),
        model_text=config.model_text,
        limits=config.said_limits(),
        models=config.subagents.choices,
        mcp_servers=config.mcp_servers,
    )


def _may_be_apart(profile: Profile, config: OhmConfig) -> bool:
    """Return True for a profile whose tasks work on clones, if no call says otherwise."""
    own = config.subagents.entry(profile.id).isolation
    said = (own,) if own is not None else (profile.isolation, config.subagents.isolation)
    return strictest_isolation(*said) == "clone"


def _may_ask(profile: Profile, config: OhmConfig) -> bool:
    """Return True for a profile that has rules which ask, beside those that come with it, or a tool for questions."""
    own = config.subagents.entry(profile.id).tools or ToolRules()
    rules = (*profile.tools.call_rules, *own.allowed_rules, *own.call_rules)
    named = (*(profile.tools.allowed or ()), *(own.allowed or ()))
    return ASK_PARENT in map(fold_tool, named) or any(one.ask and not one.is_default for one in rules)


def mount_all(
    config: OhmConfig,
    suites: tuple[str, ...] | None,
    specs: Mapping[str, ToolSuiteSpec],
    context: Callable[[str], SuiteContext],
    origin: Callable[[str], str],
) -> MountedSuites:
    """Mount every suite for children, and for the parent those that are asked for or configured.

    `origin` returns the place of a setting, or `default`.
    """

    def place(key: str) -> str:
        found = origin(key)
        return "" if found == DEFAULT or (key == "suites" and suites is not None) else found

    def for_children(name: str) -> SuiteContext:
        shared = specs[name].audience == "both"
        own = context(name)
        return replace(own, audience="child", host=_deaf(own.host) if shared else own.host)

    offered = [name for name, spec in specs.items() if spec.audience != "parent"]
    for_children_only = {name for name, spec in specs.items() if spec.audience == "child"}
    chosen = [name for name in (config.suites if suites is None else suites) if name not in for_children_only]
    redact = config.subagents.redact
    child = mount(
        offered,
        specs,
        for_children,
        reserved=dict.fromkeys((*CHILD_TOOLS, FINALIZE), "ohm-subagents"),
        redact=redact,
        place=place,
    )
    parent = mount(chosen, specs, context, kept={TASK: TASK}, redact=redact, place=place)
    return MountedSuites(parent=parent, child=child)


def taken_names(
    specs: Mapping[str, ToolSuiteSpec], context: Callable[[str], SuiteContext], others: Iterable[str]
) -> frozenset[str]:
    """Return the names that a project's direct tool may not use: tools of all suites, of children, and `others`.

    A suite that cannot be built has none; mounting it reports that.
    """
    names = {TASK, FINALIZE, SHARED, *map(name_beside, specs), *CHILD_TOOLS, *others}
    for name, spec in specs.items():
        if name != PRIMARY:
            with suppress(Exception):  # plugin collection, as above
                own = context(name)
                alone = replace(own, host=_deaf(own.host), memory={}, report=_unreported, offer=_unreported)
                names |= {tool.name for tool in spec.build(alone)}
    return frozenset(names)


def _deaf(host: HostDoor) -> HostDoor:
    """Return the host without the events of its session."""
    return replace(host, on=_unheard)


def _unheard(_event: str, _handler: EventHandler) -> None:
    """Register nothing."""


def _unreported(_source: DiagnosticSource | ToolSource) -> None:
    """Report and offer nothing: the suite is built for the names of its tools alone."""


def message_text(specs: Iterable[ToolSuiteSpec], kind: str, text: str, theme: Theme) -> str:
    """Draw a message that a suite sent to the host, by that suite; of an unknown kind, return the text."""
    views = (spec.message_view(kind, text, theme) for spec in specs if spec.message_view is not None)
    return next((view for view in views if view is not None), text)
