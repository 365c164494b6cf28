"""The first answer, which is made without the MCP library, is the one that the library makes."""

import json
from importlib.metadata import version

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_process import CLIENT, META, NEW, OLD, initialize, request
from mcp_types.jsonrpc import jsonrpc_message_adapter
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from ohm_subagents.mcp import mcp_server
from ohm_subagents.mcp.greeting import HANDSHAKE_VERSIONS, MODERN_VERSIONS, first_answer
from ohm_subagents.testing import quick_ohm

FIRST = {
    **{version: initialize(version) for version in (*HANDSHAKE_VERSIONS, "2031-01-01")},
    "id": initialize(request_id="first-é"),
    "discover": request(7, "server/discover", era=NEW),
}


async def answer_of_the_library(message):
    to_server, requests = anyio.create_memory_object_stream(1)
    to_client, answers = anyio.create_memory_object_stream(1)
    async with quick_ohm() as ohm, anyio.create_task_group() as group:
        server = mcp_server(ohm)
        group.start_soon(server.run, requests, to_client, server.create_initialization_options())
        await to_server.send(SessionMessage(jsonrpc_message_adapter.validate_python(message, by_name=False)))
        answer = (await answers.receive()).message.model_dump(by_alias=True, exclude_unset=True, mode="json")
        to_server.close()
    answers.close()
    return answer


def test_the_versions_are_those_of_the_library():
    assert (HANDSHAKE_VERSIONS, MODERN_VERSIONS) == (HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS)


@pytest.mark.anyio
@pytest.mark.parametrize("message", FIRST.values(), ids=FIRST)
async def test_it_is_the_answer_of_the_library(message):
    greeting = first_answer(json.dumps(message).encode(), version=version("ohm-subagents"))
    assert greeting.line.endswith(b"}\n")
    assert greeting.line.count(b"\n") == 1
    assert json.loads(greeting.line) == await answer_of_the_library(message)


@pytest.mark.parametrize(
    "message",
    [
        [],
        {},
        {"jsonrpc": "1.0", "id": 1, "method": "initialize", "params": {}},
        {**initialize(), "id": None},
        {**initialize(), "id": True},
        initialize(version=5),
        request(0, "initialize", {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "x"}}),
        request(0, "initialize", {"protocolVersion": OLD, "capabilities": [], "clientInfo": CLIENT}),
        request(0, "server/discover"),
        request(0, "server/discover", {"_meta": {**META, "io.modelcontextprotocol/protocolVersion": "2031-01-01"}}),
        request(0, "tools/list", era=NEW),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
    ],
    ids=str,
)
def test_whatever_is_no_plain_beginning_is_left_to_the_library(message):
    assert first_answer(json.dumps(message).encode(), version="1") is None


@pytest.mark.parametrize("line", [b"", b"{", b"[" * 100_000, b"\xff", b"NaN"])
def test_a_line_that_is_no_json_is_left_to_the_library(line):
    assert first_answer(line[:200_000], version="1") is None
