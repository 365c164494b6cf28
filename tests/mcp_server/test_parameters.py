"""Parameters of a client beside the arguments of a tool: named in the result, or refused if they restrain."""

import re
from typing import Any, Literal

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ListToolsResult, Request
from mcp_types.jsonrpc import INVALID_PARAMS

from ohm_subagents.mcp import mcp_server
from ohm_subagents.testing import ScriptedBackend, Step, quick_ohm

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", ["legacy", "auto"])]
ARGUMENTS = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"}


class _Call(Request[dict[str, Any], str]):
    method: Literal["tools/call"] = "tools/call"


class _Listing(Request[dict[str, Any], str]):
    method: Literal["tools/list"] = "tools/list"


async def call(client, **more):
    asked = _Call(params={"name": "task", "arguments": ARGUMENTS, **more})
    return await client.session.send_request(asked, CallToolResult)


async def test_a_parameter_that_no_method_has_is_told_and_what_the_protocol_names_is_not(mode):
    async with quick_ohm("found", "found") as ohm, Client(mcp_server(ohm), mode=mode) as client:
        plain = await call(client, _meta={"x": 1})
        more = await call(client, colour="red", _meta={"x": 1})
        listed = await client.session.send_request(_Listing(params={"isolation": "worktree"}), ListToolsResult)

    assert len(plain.content) == 1
    assert "ohm/ignored" not in plain.meta
    assert more.content[-1].text == "note: Ignored unknown parameter 'colour'."
    assert more.meta["ohm/ignored"] == ["colour"]
    assert more.meta["ohm/envelope"]["status"] == "succeeded"
    assert listed.meta["ohm/ignored"] == ["isolation"]


@pytest.mark.parametrize(("key", "value"), [("isolation", "worktree"), ("cwd", "/x"), ("tools", ["read"])])
async def test_a_call_with_a_parameter_that_restrains_a_subagent_is_refused(mode, key, value):
    backend = ScriptedBackend(default=Step(text="found"))
    async with quick_ohm(backend=backend) as ohm, Client(mcp_server(ohm), mode=mode) as client:
        with pytest.raises(MCPError, match=re.escape(f"tools/call does not take '{key}'.")) as refused:
            await call(client, **{key: value})

    assert refused.value.code == INVALID_PARAMS
    assert backend.calls == []
