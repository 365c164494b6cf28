"""Run in an environment that has fastmcp-tasks: start a task in three ways, and print what came of each."""

import asyncio
import os
import sys
from pathlib import Path

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from fastmcp_tasks import call_tool_task

ARGUMENTS = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "answer"}
REACHED, RELEASED = (Path(os.environ[f"OHM_TEST_{name}"]) for name in ("REACHED", "RELEASED"))


def say(*words):
    sys.stdout.write(f"{' '.join(words)}\n")


def transport():
    kind, *rest = sys.argv[1:]
    if kind == "stdio":
        return StdioTransport(command=rest[0], args=["mcp"], env=dict(os.environ), keep_alive=False)
    return StreamableHttpTransport(rest[0], headers={"Authorization": f"Bearer {rest[1]}"})


async def main():
    async with Client(transport()) as client:
        say("tools:", *(tool.name for tool in await client.list_tools()))
        result = await client.call_tool("task", ARGUMENTS)
        say("called:", result.content[0].text.splitlines()[-1].strip())
        paused = await call_tool_task(client, "task", ARGUMENTS | {"prompt": "pause"})
        await asyncio.to_thread(REACHED.read_text)
        say("status:", (await paused.status()).status)
        await asyncio.to_thread(RELEASED.write_text, "go")
        say("task:", (await paused.result()).content[0].text.splitlines()[-1].strip())
        hanging = await call_tool_task(client, "task", ARGUMENTS | {"prompt": "hang"})
        await asyncio.to_thread(REACHED.read_text)
        await hanging.cancel()
        say("cancelled:", (await hanging.wait(timeout=20)).status)


asyncio.run(main())
