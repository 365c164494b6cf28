"""The door to MCP servers: `mcp_server` makes one for an `Ohm` of yours, `ToolBridge` one for an agent of a backend.

A guest: it imports doors only, and knows nothing of tasks that a door does not tell. It needs the extra `mcp`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ohm_subagents._lazy import lazy_names

if TYPE_CHECKING:
    from typing import Unpack

    from mcp.server import Server

    from ohm_subagents import CallOptions, Ohm
    from ohm_subagents.mcp.bridge import Endpoint, ToolBridge

__all__ = ["Endpoint", "ToolBridge", "mcp_server"]


def mcp_server(ohm: Ohm, *, structured: bool = False, **options: Unpack[CallOptions]) -> Server[Any]:
    """Return a server of the package `mcp` with the tools of an `Ohm`, for any number of connections.

    Its calls end with `ohm`. `structured`: send the envelope as structured content too. `options` are those of
    `Ohm.begin`, for every call. Raises ImportError without the extra `mcp`.
    """
    from ohm_subagents.mcp.server import server_of

    return server_of(ohm, options, structured=structured)


__getattr__, __dir__ = lazy_names(__name__, {"mcp.bridge": "Endpoint ToolBridge"})
