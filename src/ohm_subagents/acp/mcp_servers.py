"""The MCP servers that an editor passes on, as those of ohm.json are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from acp.schema import HttpMcpServer, McpServerStdio
from pydantic import ValidationError

from ohm_subagents.config import McpServer
from ohm_subagents.contract import Err, Ok

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from acp.schema import AcpMcpServer, SseMcpServer

    from ohm_subagents.contract import Result

    Named = HttpMcpServer | SseMcpServer | AcpMcpServer | McpServerStdio

_FOREIGN: Final = re.compile(r"[^A-Za-z0-9-]+")


def servers_of(named: Iterable[Named]) -> Result[Mapping[str, McpServer], str]:
    """Return the servers by names that tools may have, or the sentence that refuses the first that cannot be used."""
    found: dict[str, McpServer] = {}
    for server in named:
        name = _FOREIGN.sub("_", server.name).strip("_") or "server"
        if name in found:
            return Err(f"Two MCP servers are called {server.name!r:.80}. Give each a name of its own.")
        match server:
            case McpServerStdio():
                env = {one.name: one.value for one in server.env}
                entry: dict[str, object] = {"command": server.command, "args": server.args, "env": env}
            case HttpMcpServer():
                entry = {"url": server.url, "headers": {one.name: one.value for one in server.headers}}
            case _:
                return Err(
                    f"The MCP server {server.name!r:.80} is reached by {server.type!r}; allowed: a command, or 'http'."
                )
        try:
            found[name] = McpServer.model_validate(entry)
        except ValidationError as invalid:
            fault = invalid.errors(include_url=False, include_input=False, include_context=False)[0]
            place = ".".join(map(str, fault["loc"]))
            return Err(f"The MCP server {server.name!r:.80} cannot be used: '{place}' has to be {fault['msg']}.")
    return Ok(found)


def tools_of(servers: Iterable[str]) -> tuple[str, ...]:
    """Return the pattern for all tools of each server."""
    return tuple(f"mcp__{name}__*" for name in servers)
