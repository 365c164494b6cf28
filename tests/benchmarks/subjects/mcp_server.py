"""The same echo start through `ohm mcp`, beside the call in a program."""

import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from stopwatch import repeating

from ohm_subagents import Ohm

START = {"op": "start", "subagent_type": "finder", "description": "Work", "prompt": "Do it."}
CONFIG = '{"subagentBackend": "none", "subagents": {"store": "sqlite"}}'
TOKEN = "a-token-of-the-benchmark"
OHM = str(Path(sys.executable).with_name("ohm"))


@asynccontextmanager
async def call(way):
    """Seconds for one start: of a program, or of the official client over standard streams or HTTP."""
    with TemporaryDirectory(prefix="ohm-bench-") as folder:
        env = {"PI_CONFIG_DIR": folder, "OHM_SUBAGENTS_LOAD_PLUGINS": "sqlite,echo", "PATH": os.environ["PATH"]}
        (Path(folder) / "ohm.json").write_text(CONFIG)
        async with {"program": program, "stdio": stdio, "http": http}[way](folder, env) as start:
            yield repeating(start, 5)


@asynccontextmanager
async def program(folder, env):
    async with Ohm.open(cwd=folder, env=env) as ohm:

        async def start():
            assert not (await ohm.call("task", START)).is_error

        yield start


@asynccontextmanager
async def stdio(folder, env):
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    parameters = StdioServerParameters(command=OHM, args=["mcp"], env=env, cwd=folder)
    async with Client(stdio_client(parameters)) as client:
        yield calling(client)


@asynccontextmanager
async def http(folder, env):
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    command = [OHM, "mcp", "--http", "0"]
    async with await anyio.open_process(
        command, cwd=folder, env=env | {"OHM_MCP_TOKEN": TOKEN}, stdout=None, stderr=-1
    ) as server:
        url = (await server.stderr.receive()).decode().split()[-1]
        bearer = httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"})
        async with bearer, Client(streamable_http_client(url, http_client=bearer)) as client:
            await client.list_tools()
            yield calling(client)
        server.terminate()


def calling(client):
    async def start():
        assert not (await client.call_tool("task", START)).is_error

    return start
