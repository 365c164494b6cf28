"""`ohm acp`, as it is typed. `ohm --help` loads this: no engine, and no `acp`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from ohm_subagents.commands import BAD_USAGE, Config, Server, complain, finish


def acp(
    *,
    agent: Annotated[
        str | None,
        typer.Option("--agent", help="The subagent that a session begins with.", metavar="<id>"),
    ] = None,
    server: Server = None,
    config: Config = None,
) -> None:
    """Be an agent for editors, over the Agent Client Protocol."""
    if find_spec("acp") is None:
        from ohm_subagents.plugin import install_command

        complain(
            "`ohm acp` needs the package agent-client-protocol, which is not installed. "
            f"Install it: {install_command('acp')}"
        )
        raise typer.Exit(BAD_USAGE)
    from ohm_subagents.acp.stdio import serve_stdio

    finish(lambda: serve_stdio(agent=agent, server=server, config=config))
