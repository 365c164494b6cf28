"""Look into an `Ohm`, for `ohm doctor` and for programs that show the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from ohm_subagents._config.load import LoadedConfig
from ohm_subagents._config.trust import Trust
from ohm_subagents._plugins.backends.interface import BackendSpec
from ohm_subagents._plugins.backends.model_choice import ModelChoice
from ohm_subagents._plugins.host.host import PluginInfo
from ohm_subagents._plugins.suites.interface import ToolSuiteSpec
from ohm_subagents._plugins.suites.tool import Tool
from ohm_subagents._records import dataclass
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.place import Place
from ohm_subagents.contract.profile import Decision, PermissionRequest, Profile
from ohm_subagents.contract.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents._app.assembly import Assembly


@dataclass(frozen=True, slots=True, kw_only=True)
class MountedTool:
    """A tool that an agent can call in an `Ohm`."""

    tool: Tool
    """The tool itself, under the name that it has here."""
    suite: str
    """The suite that built it."""
    plugin: str
    """The plugin that offers the suite."""
    for_subagents: bool
    """True for a tool of subagents, False for one of the parent agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """The parts of an `Ohm` at one moment; a later `reconfigure` does not change them."""

    loaded: Result[LoadedConfig, OhmError]
    """The configuration and the origin of each value, or the error for which nothing can start."""
    place: Place
    """The working directory, the directories of the user, and the environment."""
    trust: Trust
    """The user's trust in the project, with the files of it that were looked up until now."""
    profiles: tuple[Profile, ...]
    """Every profile, in the order of the catalogue, those that may not be shown included."""
    plugins: tuple[PluginInfo, ...]
    """Every plugin that is loaded, left out or broken, in the order of registration."""
    backends: Mapping[str, BackendSpec]
    """The backends that plugins offer, by id."""
    models: ModelChoice
    """The model providers that plugins offer, and which of them has a key."""
    suites: Mapping[str, ToolSuiteSpec]
    """The tool suites that plugins offer, by name, mounted or not."""
    tools: tuple[MountedTool, ...]
    """The mounted tools: first those of the parent agent, then those of subagents."""
    tool_prefixes: tuple[str, ...]
    """The beginnings of the names of tools that are known only before a run, such as `mcp__calc__`."""
    opinions: Callable[[PermissionRequest], tuple[Decision, ...]]
    """Ask every plugin whether a subagent may run; return the decisions of those that make one."""
    checks: Callable[[Iterable[str]], tuple[Diagnostic, ...]]
    """Ask every plugin what works and what does not here, as if these suites were mounted."""


def inspection_of(assembly: Assembly) -> Inspection:
    """Return the parts of an `Ohm` that is made like this."""
    host, options = assembly.host, assembly.config.suite_options
    return Inspection(
        loaded=assembly.loaded,
        place=assembly.place,
        trust=assembly.trust(),
        profiles=assembly.catalog.profiles,
        plugins=host.plugins,
        backends=host.backends(),
        models=assembly.models(),
        suites=host.tool_suites(),
        tools=tuple(_tools(assembly)),
        tool_prefixes=tuple(assembly.mounted.sources),
        opinions=host.permission,
        checks=lambda suites: host.checks(assembly.place, {name: options.get(name, {}) for name in suites}),
    )


def _tools(assembly: Assembly) -> Iterator[MountedTool]:
    for group in (assembly.mounted.parent, assembly.mounted.child):
        for name, tool in group.tools.items():
            suite = group.suites[name]
            plugin = assembly.host.suite_owner(suite)
            yield MountedTool(tool=tool, suite=suite, plugin=plugin, for_subagents=group is assembly.mounted.child)
