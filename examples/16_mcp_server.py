"""Serve the tools of an `Ohm` to an MCP client, here in the same process; `ohm mcp` serves other programs.

Needs the extra `mcp`.
"""

import anyio
from mcp import Client

from ohm_subagents import Ohm
from ohm_subagents.mcp import mcp_server
from ohm_subagents.testing import ScriptedBackend

START = {"op": "start", "subagent_type": "finder", "description": "Login", "prompt": "Where is login?"}


async def show(progress: float, total: float | None, message: str | None) -> None:
    print(f"{progress:.0f} of {total or 'many'}: {message}")


async def main() -> None:
    backend = ScriptedBackend("In routes.py.")
    async with (
        Ohm.open(config={"subagentBackend": "scripted"}, plugins=[backend]) as ohm,
        Client(mcp_server(ohm)) as client,
    ):
        result = await client.call_tool("task", START, progress_callback=show)
    envelope = (result.meta or {})["ohm/envelope"]
    print(envelope["status"], envelope["output"])


anyio.run(main)

# Prints:
# 1 of many: Starting Finder: Login
# 2 of many: Finder: Login
# succeeded In routes.py.
