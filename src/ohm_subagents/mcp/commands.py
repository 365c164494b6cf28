"""`ohm mcp`, as it is typed. `ohm --help` loads this: no engine, and no `mcp`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from ohm_subagents.commands import BAD_USAGE, HERE, Config, Cwd, Server, chosen_server, complain, directory, finish


def mcp(
    *,
    http: Annotated[
        str | None,
        typer.Option("--http", metavar="[HOST:]PORT", help="Serve over HTTP at this address, in place of stdio."),
    ] = None,
    origins: Annotated[
        list[str] | None,
        typer.Option("--origin", help="A web page that may connect over HTTP, besides local ones; repeatable."),
    ] = None,
    structured: Annotated[
        bool,
        typer.Option("--structured", help="Send envelopes as structured content; some clients show models only that."),
    ] = False,
    server: Server = None,
    cwd: Cwd = HERE,
    config: Config = None,
) -> None:
    """Serve the tools to an MCP client, on standard input and output."""
    place = directory(cwd)
    if find_spec("mcp") is None:
        from ohm_subagents.plugin import install_command

        complain(f"`ohm mcp` needs the package mcp, which is not installed. Install it: {install_command('mcp')}")
        raise typer.Exit(BAD_USAGE)
    from ohm_subagents.mcp.options import ServerOptions

    chosen = chosen_server(server, cwd=place, config=config)
    options = ServerOptions(cwd=place, config=config, server=chosen, structured=structured)
    if http is None:
        from ohm_subagents.mcp.stdio import serve_stdio

        finish(lambda: serve_stdio(options))
    from ohm_subagents.mcp.http import serve_http

    finish(lambda: serve_http(options, http, origins=tuple(origins or ())))
