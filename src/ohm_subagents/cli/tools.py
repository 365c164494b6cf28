"""`ohm tools`: what an agent can call here, from which suite, and from which plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents.cli.exits import SUCCESS
from ohm_subagents.cli.terminal import print_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents import Ohm
    from ohm_subagents._config.load import LoadedConfig
    from ohm_subagents._plugins.host import PluginHost
    from ohm_subagents._surfaces.mounting import Mounted

_HEAD: Final = ("tool", "suite", "plugin", "")


def print_tools(ohm: Ohm, _loaded: LoadedConfig) -> int:
    """Print one line a tool, then the suites that are left out; the exit code."""
    host, mounted = ohm.assembly.host, ohm.assembly.mounted
    groups = {"For the parent agent": mounted.parent, "For subagents": mounted.child}
    parts = ["\n".join((f"{title}:", *_lines(group, host))) for title, group in groups.items() if group.tools]
    offered = {name for name, spec in host.tool_suites().items() if spec.audience != "child"}
    named = offered.intersection(ohm.config.suites)
    parts += _suites("Mounted, and without a tool here", named.difference(mounted.parent.suites.values()))
    parts += _suites("Not mounted, as `suites` of ohm.json does not name them", offered - named)
    print_text("\n\n".join(parts))
    return SUCCESS


def _suites(title: str, names: set[str]) -> Iterator[str]:
    if names:
        yield f"{title}: {', '.join(sorted(names))}"


def _lines(group: Mounted, host: PluginHost) -> Iterator[str]:
    rows = [_HEAD, *_rows(group, host)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _rows(group: Mounted, host: PluginHost) -> Iterator[tuple[str, str, str, str]]:
    for name, tool in group.tools.items():
        suite = group.suites[name]
        yield name, suite, host.suite_owner(suite), "where a profile names it" if tool.only_if_named else ""
