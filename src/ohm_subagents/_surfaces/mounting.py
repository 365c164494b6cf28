"""Which tools a host gets: the suites it asked for, each name once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ohm_subagents.contract.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ohm_subagents._plugins.interfaces import SuiteContext, Tool, ToolSuiteSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted:
    """Tools by name, the suite that each came from, and what could not be mounted."""

    tools: Mapping[str, Tool]
    suites: Mapping[str, str]
    diagnostics: tuple[Diagnostic, ...]


def mount(names: Iterable[str], specs: Mapping[str, ToolSuiteSpec], context: Callable[[str], SuiteContext]) -> Mounted:
    """Build the named suites in order. A tool name that is taken already is left out, with a diagnostic (004)."""
    tools: dict[str, Tool] = {}
    suites: dict[str, str] = {}
    diagnostics: list[Diagnostic] = []
    for name in dict.fromkeys(names):
        spec = specs.get(name)
        if spec is None:
            diagnostics.append(_unknown(name, specs))
            continue
        for tool in spec.build(context(name)):
            if tool.name in tools:
                diagnostics.append(_collision(tool.name, name, suites[tool.name]))
            else:
                tools[tool.name], suites[tool.name] = tool, name
    return Mounted(tools=tools, suites=suites, diagnostics=tuple(diagnostics))


def _unknown(name: str, specs: Mapping[str, ToolSuiteSpec]) -> Diagnostic:
    return Diagnostic(
        subject=name,
        message=f"No plugin offers the tool suite '{name}'. Available: {', '.join(sorted(specs))}.",
    )


def _collision(tool: str, suite: str, owner: str) -> Diagnostic:
    return Diagnostic(subject=tool, message=f"Skipped tool '{tool}' of suite '{suite}': suite '{owner}' has that name.")
