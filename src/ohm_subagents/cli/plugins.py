"""`ohm plugins`: what is installed, what it offers, and what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._terminal.exits import SUCCESS
from ohm_subagents._terminal.terminal import print_text

if TYPE_CHECKING:
    from ohm_subagents import Ohm
    from ohm_subagents.config import LoadedConfig
    from ohm_subagents.plugin import PluginInfo


def print_plugins(ohm: Ohm, _loaded: LoadedConfig) -> int:
    """Print one line a plugin; their diagnostics have been reported already. The exit code."""
    print_text("\n".join(plugin_line(plugin) for plugin in ohm.inspect().plugins))
    return SUCCESS


def plugin_line(plugin: PluginInfo) -> str:
    """Name, state, where it comes from, and its hooks."""
    origin = plugin.origin if plugin.distribution is None else f"{plugin.distribution} {plugin.version}"
    hooks = f": {', '.join(plugin.hooks)}" if plugin.hooks else ""
    return f"{plugin.name} [{plugin.state} · {origin}]{hooks}"
