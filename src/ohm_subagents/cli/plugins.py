"""`ohm plugins` and `ohm tools`: what is installed and mounted, what it offers, and what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents.commands import SUCCESS, print_text
from ohm_subagents.plugin import ASK_PARENT, CHILD_TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents import MountedTool, Ohm
    from ohm_subagents.config import LoadedConfig
    from ohm_subagents.plugin import PluginInfo

_HEAD: Final = ("tool", "suite", "plugin", "")
_NAMED: Final = "where a profile names it"


def print_plugins(ohm: Ohm, _loaded: LoadedConfig) -> int:
    """Print one line a plugin; their diagnostics have been reported already. The exit code."""
    print_text("\n".join(plugin_line(plugin) for plugin in ohm.inspect().plugins))
    return SUCCESS


def plugin_line(plugin: PluginInfo) -> str:
    """Return name, state, origin and hooks of a plugin."""
    origin = plugin.origin if plugin.distribution is None else f"{plugin.distribution} {plugin.version}"
    hooks = f": {', '.join(plugin.hooks)}" if plugin.hooks else ""
    return f"{plugin.name} [{plugin.state} · {origin}]{hooks}"


def print_tools(ohm: Ohm, _loaded: LoadedConfig) -> int:
    """Print one line a tool, then the suites that are left out; return the exit code."""
    inspection = ohm.inspect()
    parents = [one for one in inspection.tools if not one.for_subagents]
    children = [one for one in inspection.tools if one.for_subagents]
    parts = [*_group("For the parent agent", parents), *_group("For subagents", children, _NAMED)]
    parts.append(f"Built in, for a subagent whose profile names them: {', '.join((*CHILD_TOOLS, ASK_PARENT))}")
    offered = {name for name, spec in inspection.suites.items() if spec.audience != "child"}
    named = offered.intersection(ohm.config.suites)
    parts += _suites("Mounted, and without a tool here", named.difference(one.suite for one in parents))
    parts += _suites("Not mounted, as `suites` of ohm.json does not name them", offered - named)
    print_text("\n\n".join(parts))
    return SUCCESS


def _suites(title: str, names: set[str]) -> Iterator[str]:
    if names:
        yield f"{title}: {', '.join(sorted(names))}"


def _group(title: str, tools: list[MountedTool], named: str = "") -> Iterator[str]:
    """Yield a table of tools; `named` marks one that only a profile which names it gets."""
    rows = [_HEAD, *((one.tool.name, one.suite, one.plugin, named if one.tool.only_if_named else "") for one in tools)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
    if tools:
        yield "\n".join((f"{title}:", *(f"  {line}" for line in lines)))
