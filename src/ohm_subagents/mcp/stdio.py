"""MCP over standard input and output."""

from __future__ import annotations

from contextlib import aclosing
from importlib.metadata import version
from typing import TYPE_CHECKING

from ohm_subagents.commands import SUCCESS, report, standard_wire, until_signal
from ohm_subagents.mcp.greeting import first_answer

if TYPE_CHECKING:
    from ohm_subagents.commands import Wire
    from ohm_subagents.mcp.options import ServerOptions


async def serve_stdio(options: ServerOptions) -> int:
    """Serve one client until it closes the stream or a signal comes; return the exit code."""
    with standard_wire() as wire:
        ended = await until_signal(lambda: _served(wire, options))
    return SUCCESS if ended is None else 128 + ended


async def _served(wire: Wire, options: ServerOptions) -> None:
    own = version("ohm-subagents")
    async with aclosing(wire.lines()) as lines:
        first = await anext(lines, None)
        if first is None:
            return
        greeted = first_answer(first, version=own) if isinstance(first, bytes) else None
        if greeted is not None:
            await wire.write(greeted.line)
        from ohm_subagents import Ohm
        from ohm_subagents.mcp.connection import Connection
        from ohm_subagents.mcp.server import server_of

        async with Ohm.open(cwd=options.cwd, config=options.config, server=options.server) as ohm:
            report(ohm.diagnostics)
            connection = Connection(wire, answered=greeted)
            await connection.serve(server_of(ohm, {}, structured=options.structured), first, lines)
