"""Check that the tools that a program gives to a call can be given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._config.tool_rules import has_tool
from ohm_subagents._orchestrator.admission import refusals
from ohm_subagents._plugins.backends.interface import Capability
from ohm_subagents._policy.tools import denied_tools
from ohm_subagents.contract.profile import CHILD_TOOLS, FINALIZE

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from ohm_subagents._orchestrator.admission.context import ResolvedProfile
    from ohm_subagents._plugins.backends.interface import BackendSpec
    from ohm_subagents.contract.commands import NamedTool
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
