"""The tools that a program gives to a call: those that are refused, and those that are added to the profile's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ohm_subagents._config.tool_rules import ToolRules, common_tools, has_tool
from ohm_subagents._orchestrator.admission import refusals
from ohm_subagents._plugins.backends.interface import Capability
from ohm_subagents._policy.tools import LaterTools, denied_tools, may_begin, unknown_tools
from ohm_subagents.contract.profile import CHILD_TOOLS, FINALIZE

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ohm_subagents._orchestrator.admission.context import AdmissionContext, ResolvedProfile
    from ohm_subagents._plugins.backends.interface import BackendSpec
    from ohm_subagents._policy.tools import ResolvedTools
    from ohm_subagents.contract.commands import NamedTool, Overrides
    from ohm_subagents.contract.errors import OhmError


def ungiven(
    tools: Sequence[NamedTool], resolved: ResolvedProfile, offered: Collection[str], spec: BackendSpec | None
) -> OhmError | None:
    """Return an error for the first tool that cannot be given; `offered` are the names of the tools of plugins."""
    if not tools:
        return None
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


def with_call_tools(
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
