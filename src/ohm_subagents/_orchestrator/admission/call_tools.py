"""The tools of a call: those that a program adds to the profile's, or that are refused, and the rules for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from ohm_subagents._config.tool_rules import WILDCARD, ToolRules, common_tools, has_tool
from ohm_subagents._orchestrator.admission import refusals
from ohm_subagents._plugins.backends.interface import Capability
from ohm_subagents._plugins.backends.request import not_asked
from ohm_subagents._policy.ceiling import lowered
from ohm_subagents._policy.tool_names import instead, is_misspelt, may_begin, quoted, unknown_tools
from ohm_subagents._policy.tools import LaterTools, denied_tools
from ohm_subagents.contract.call_rules import is_call_rule, split_calls
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.profile import ASK_PARENT, CHILD_TOOLS, FINALIZE
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.spelling import did_you_mean
from ohm_subagents.contract.tool_ceiling import ToolCeiling

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from ohm_subagents._config.subagents import Unattended
    from ohm_subagents._orchestrator.admission.context import AdmissionContext, ResolvedProfile
    from ohm_subagents._plugins.backends.interface import BackendSpec
    from ohm_subagents._plugins.suites.tool import Tool
    from ohm_subagents._policy.tools import ResolvedTools
    from ohm_subagents.contract.call_rules import CallRules
    from ohm_subagents.contract.commands import Overrides
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.profile import Profile


def ungiven(
    asked: Overrides, resolved: ResolvedProfile, offered: Collection[str], spec: BackendSpec | None
) -> OhmError | None:
    """Return an error for the first tool that cannot be given; `offered` are the names of the tools of plugins."""
    wrong = _not_added(asked.tool_names, resolved)
    tools = asked.tools
    if wrong is not None or not tools:
        return wrong
    names = [tool.name for tool in tools]
    if spec is not None and Capability.CHILD_TOOLS not in spec.capabilities:
        return refusals.tools_unsupported(names, spec.id)
    denied = denied_tools(resolved.profile.tools, resolved.own.tools)
    for index, name in enumerate(names):
        if name in {*names[:index], *CHILD_TOOLS, *offered, FINALIZE}:
            return refusals.tool_taken(name)
        if has_tool(denied, name):
            return refusals.tool_denied(name, resolved.profile.id)
    return None


def _not_added(names: Sequence[str], resolved: ResolvedProfile) -> OhmError | None:
    """Return an error for the first name in `tools` that adds no tool: it may be meant to leave out the others."""
    for name in names:
        if is_call_rule(name):
            return refusals.calls_in_tools(name)
        if WILDCARD not in name and resolved.tools.unwrap().gives(name):
            return refusals.tool_of_profile(name, resolved.profile.id)
    return None


def call_ceiling(
    asked: Overrides, resolved: ResolvedProfile, context: AdmissionContext
) -> Result[ToolCeiling | None, OhmError]:
    """Return the ceiling that the lists `allow` and `deny` of a call are, or why they cannot be kept."""
    if asked.allow is None and not asked.deny:
        return Ok(None)
    read = split_calls(asked.allow, asked.deny, source="the call")
    if isinstance(read, Err):
        return Err(refusals.unreadable_lists(read.err_value))
    lists, added = read.ok_value, tuple(tool.name for tool in asked.tools)
    own = () if isinstance(resolved.tools, Err) else resolved.tools.ok_value.names
    known = tuple(dict.fromkeys((*CHILD_TOOLS, ASK_PARENT, *own, *context.child_tools, *added)))
    prefixes = tuple(context.tool_sources)
    for name in (*lists.denied, *(one.tool for one in lists.rules if one.deny)):
        if is_misspelt(name, known, prefixes):
            return Err(refusals.unknown_denial(name, instead([name], known, prefixes)))
    both = next((name for name in (*added, *asked.tool_names) if has_tool(lists.denied, name)), None)
    if both is not None:
        return Err(refusals.denied_by_itself(both))
    names = None if lists.allowed is None else (*lists.allowed, *added, *asked.tool_names)
    return Ok(ToolCeiling(names=names, denied=lists.denied, call_rules=lists.rules))


def given_tools(
    tools: ResolvedTools,
    asked: Overrides,
    resolved: ResolvedProfile,
    context: AdmissionContext,
    *,
    narrowed: ToolCeiling | None,
    ceiling: ToolCeiling | None,
) -> ResolvedTools:
    """Return the tools of a profile with those of a call, under what the call leaves of them, and under a ceiling.

    The ceiling holds for all but functions.
    """
    if asked.tools or asked.tool_names:
        tools = _with_call_tools(tools, asked, resolved, context)
    if narrowed is not None:
        told = (*tools.diagnostics, *_not_there(tools, narrowed, resolved.profile))
        tools = replace(lowered(tools, narrowed, resolved.profile), diagnostics=told)
    if ceiling is None:
        return tools
    asks = (ASK_PARENT,) if ceiling.holder else ()  # a parent without it takes it from nobody; a former call may have
    return lowered(tools, ceiling, resolved.profile, given=(*asks, *(tool.name for tool in asked.tools)))


def _not_there(tools: ResolvedTools, narrowed: ToolCeiling, profile: Profile) -> Iterator[Diagnostic]:
    """Tell of the tools that a call allows and that there are not: it adds none."""
    lacking = [name for name in narrowed.names or () if not tools.gives(name)]
    if lacking:
        hint = "".join(did_you_mean(name, tools.names) for name in lacking)
        message = f"`allow` of the call names {quoted(lacking)}, which '{profile.id}' does not have: it adds no tool."
        yield Diagnostic(subject="tools", message=f"{message} {hint}".rstrip())


def kept_tools(tools: ResolvedTools, spec: BackendSpec | None) -> ResolvedTools:
    """Return the tools without those that are given only under rules, where a backend keeps none; each is told."""
    if spec is None or Capability.CALL_RULES in spec.capabilities:
        return tools
    ruled = tuple(one.tool for one in tools.call_rules if one.or_none)
    lost = tuple(name for name in tools.names if has_tool(ruled, name))
    if not lost:
        return tools
    names = ", ".join(f"'{name}'" for name in lost)
    message = f"{names}: not given, because the backend '{spec.id}' cannot keep the rules for its calls."
    return replace(
        tools,
        names=tuple(name for name in tools.names if name not in lost),
        call_rules=tuple(one for one in tools.call_rules if not one.or_none),
        diagnostics=(*tools.diagnostics, Diagnostic(subject="tools", message=message)),
    )


def rules_in_force(tools: ResolvedTools, unattended: Unattended | None) -> tuple[CallRules, ...]:
    """Return the rules for calls; those that come with a profile are like any other if the user has them kept."""
    if unattended not in {"deny", "wait"}:
        return tools.call_rules
    return tuple(replace(one, is_default=False) if one.is_default else one for one in tools.call_rules)


def unruled(
    profile: Profile, tools: ResolvedTools, spec: BackendSpec | None, unattended: Unattended | None
) -> OhmError | None:
    """Return an error if there are rules for the calls of a tool that is given, and the backend cannot keep them."""
    if spec is None or Capability.CALL_RULES in spec.capabilities:
        return None
    rules = rules_in_force(tools, unattended)
    ruled = next((one for one in rules if not one.is_default and tools.gives(one.tool)), None)
    if ruled is None:
        return None
    return refusals.rules_unsupported(profile.id, spec.id, ruled.tool, is_default=ruled not in tools.call_rules)


def unasked(tools: ResolvedTools, spec: BackendSpec | None) -> Iterator[Diagnostic]:
    """Tell of a tool whose calls a built-in profile has asked about, on a backend that cannot be asked."""
    if spec is not None and Capability.CALL_RULES not in spec.capabilities:
        ruled = dict.fromkeys(one.tool for one in tools.call_rules if one.is_default and tools.gives(one.tool))
        yield from (not_asked(tool, spec.id) for tool in ruled)


def child_tools(
    tools: ResolvedTools, asked: Overrides, resolved: ResolvedProfile, context: AdmissionContext
) -> tuple[Tool, ...]:
    """Return the tools of plugins that are given, those that the call names among them, and its functions."""
    functions = cast("tuple[Tool, ...]", asked.tools)
    offered = context.child_tools.values() if asked.tool_names else resolved.child_tools
    return (*(tool for tool in offered if tool.name in tools.names), *functions)


def _with_call_tools(
    tools: ResolvedTools, asked: Overrides, resolved: ResolvedProfile, context: AdmissionContext
) -> ResolvedTools:
    """Return the tools of a profile with those of a call; of the named ones, those that no rule takes away."""
    names = (*tools.names, *(tool.name for tool in asked.tools))
    if not asked.tool_names:
        return replace(tools, names=names)
    offered = tuple(dict.fromkeys((*names, *context.child_tools)))
    unknown = unknown_tools("The call", asked.tool_names, offered, tuple(context.tool_sources))
    rules = resolved.own.tools or ToolRules()
    denied = (*resolved.profile.tools.denied, *rules.denied)
    wanted = asked.tool_names if rules.at_most is None else common_tools(asked.tool_names, rules.at_most)
    named = [one for one in context.child_tools if has_tool(wanted, one) and not has_tool((*names, *denied), one)]
    before = tools.later or LaterTools(sources=(), asked=(), denied=denied)
    sources = [one for one in context.tool_sources if any(may_begin(name, one) for name in wanted)]
    sourced = [name for name in wanted if any(may_begin(name, one) for one in sources)]
    later = replace(
        before,
        sources=tuple(dict.fromkeys((*before.sources, *sources))),
        asked=tuple(dict.fromkeys((*before.asked, *sourced))),
    )
    return replace(
        tools,
        names=(*names, *named),
        later=later if later.sources else None,
        diagnostics=(*tools.diagnostics, *unknown),
    )
