"""One call of a child tool: in process, and over the MCP server that an agent of another process asks."""

from contextlib import asynccontextmanager

from stopwatch import repeating

from ohm_subagents import tool
from ohm_subagents.mcp import ToolBridge
from ohm_subagents.plugin import call_child_tool

ARGUMENTS = {"a": 2, "b": 3}


class Nobody:
    def emit(self, event):
        pass


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@asynccontextmanager
async def call(way):
    """Seconds for one call."""
    async with {"here": here, "bridge": over_the_bridge}[way]() as called:
        yield repeating(called, 20)


@asynccontextmanager
async def here():
    async def called():
        assert (await call_child_tool(add, ARGUMENTS, call_id="1", sink=Nobody())).text == "5"

    yield called


@asynccontextmanager
async def over_the_bridge():
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    async with ToolBridge.serve() as bridge, bridge.offer((add,), Nobody()) as offered:
        endpoint = offered.unwrap()
        bearer = httpx2.AsyncClient(headers=endpoint.headers)
        async with bearer, Client(streamable_http_client(endpoint.url, http_client=bearer)) as client:
            await client.list_tools()

            async def called():
                assert not (await client.call_tool("add", ARGUMENTS)).is_error

            yield called
