"""The door to the MCP server that `ohm mcp` runs: `mcp_server` makes one for an `Ohm` of yours.

A guest: it imports doors only, and knows nothing of tasks that a door does not tell. It needs the extra `mcp`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Unpack

    from mcp.server import Server

    from ohm_subagents import CallOptions, Ohm

__all__ = ["mcp_server"]


def mcp_server(ohm: Ohm, *, structured: bool = False, **options: Unpack[CallOptions]) -> Server[Any]:
    """Return a server of the package `mcp` with the tools of an `Ohm`, for any number of connections.

    Its calls end with `ohm`. `structured`: send the envelope as structured content too. `options` are those of
    `Ohm.begin`, for every call. Raises ImportError without the extra `mcp`.
    """
    from ohm_subagents.mcp.server import server_of

    return server_of(ohm, options, structured=structured)
