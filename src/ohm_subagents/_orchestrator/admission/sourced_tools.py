"""The tools of sources that an item may use, which its runs ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ohm_subagents._plugins.backends.interface import Capability
from ohm_subagents.contract.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents._orchestrator.admission.context import AdmissionContext
    from ohm_subagents._plugins.backends.interface import BackendSpec
    from ohm_subagents._plugins.suites.tool import ToolSource
    from ohm_subagents._policy.tools import LaterTools, ResolvedTools
    from ohm_subagents.contract.profile import Profile


class SourcedTools(NamedTuple):
    """The tools that a profile names of sources."""

    sources: tuple[ToolSource, ...]
    """The sources that are asked before each run."""
    tools: LaterTools
    """The tools that are given of theirs."""


def sourced_tools(tools: ResolvedTools, context: AdmissionContext, spec: BackendSpec | None) -> SourcedTools | None:
    """Return the sources to ask; None if the profile names no tool of one, or the backend gives no such tools."""
    if tools.later is None or spec is None or Capability.CHILD_TOOLS not in spec.capabilities:
        return None
    return SourcedTools(tuple(context.tool_sources[one] for one in tools.later.sources), tools.later)


def ungiven_sources(tools: ResolvedTools, profile: Profile, spec: BackendSpec | None) -> Iterator[Diagnostic]:
    """Name the tools that a backend does not give; a command-line agent may have tools of these names itself."""
    if tools.later is None or spec is None or profile.agent is not None:
        return
    if Capability.CHILD_TOOLS not in spec.capabilities:
        names = ", ".join(f"'{name}'" for name in tools.later.asked)
        message = f"{names}: not given, because the backend '{spec.id}' gives subagents no tools of plugins."
        yield Diagnostic(subject="tools", message=message)
