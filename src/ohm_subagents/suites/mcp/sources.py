"""The MCP servers of a configuration, each as a source of tools; nothing of the package `mcp` is imported here."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ohm_subagents.contract import Err
from ohm_subagents.plugin import install_command
from ohm_subagents.suite import Diagnostic, ErrorCode, OhmError, ToolSource
from ohm_subagents.suites.mcp.project_file import read_project_file
from ohm_subagents.suites.mcp.servers import prefix_of, server_of

if TYPE_CHECKING:
    from ohm_subagents.contract import Result
    from ohm_subagents.suite import SuiteContext, Tool, ToolNeed
    from ohm_subagents.suites.mcp.servers import Server
    from ohm_subagents.suites.mcp.tools import ServerTools

_MODULE: Final = "ohm_subagents.suites.mcp.tools"


@dataclass(slots=True)
class Servers:
    """The servers that were used until now."""

    used: dict[str, tuple[Server, ServerTools]] = field(default_factory=dict[str, "tuple[Server, ServerTools]"])
    """Each by its name, as it was reached, and its tools."""


def offer_servers(context: SuiteContext) -> None:
    """Offer the tools of each server that is not disabled; those of the user come before those of the project."""
    project, wrong = read_project_file(context.place)
    written = {**project, **context.settings().mcp_servers}
    kept = context.remember("servers", Servers())
    diagnostics = list(wrong)
    found: dict[str, Result[Server, OhmError]] = {}
    owners: dict[str, str] = {}
    for name, server in written.items():
        first = owners.setdefault(prefix_of(name).casefold(), name)
        if first != name or "__" in name:
            message = f"The name of the MCP server '{name}' has '__', or is that of '{first}' in names of tools."
            diagnostics.append(Diagnostic(subject="mcpServers", message=f"{message} It is ignored; rename it."))
        elif not server.disabled:
            found[name] = server_of(name, server, context.place, of_project=server is project.get(name))
            context.offer(ToolSource(prefix=prefix_of(name), tools=partial(_tools, kept, found[name], context)))
    errors = (one.err_value for one in found.values() if isinstance(one, Err))
    diagnostics += (Diagnostic(subject="mcpServers", message=error.message) for error in errors)
    for name, (used, tools) in tuple(kept.used.items()):
        now = found.get(name)
        if now is None or isinstance(now, Err) or now.ok_value != used:
            kept.used.pop(name)
            tools.close()
    context.report(lambda: diagnostics)


async def _tools(
    kept: Servers, found: Result[Server, OhmError], context: SuiteContext, need: ToolNeed
) -> Result[tuple[Tool, ...], OhmError]:
    """Ask a server for its tools; the first use imports the package `mcp`, off the event loop."""
    if isinstance(found, Err):
        return found
    server = found.ok_value
    try:
        await to_thread.run_sync(import_module, _MODULE)
    except ImportError:
        message = f"The MCP server '{server.name}' needs the package mcp: {install_command('mcp')}"
        return Err(OhmError(code=ErrorCode.TOOL_FAILED, message=f"{message}."))
    from ohm_subagents.suites.mcp.tools import ServerTools  # noqa: PLC0415  imported by the thread above

    if server.name not in kept.used:
        kept.used[server.name] = (server, ServerTools(server, context))
    return await kept.used[server.name][1].tools(need)
