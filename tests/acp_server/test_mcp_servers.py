"""MCP servers that an editor passes on are tools of the subagents of that session."""

import os

import mcp_servers
import pytest
from acp_editor import Editor, editor_of, refused
from command_line import EXECUTABLE
from mcp_process import place_of
from model_server import Call, ModelServer, Say

from ohm_subagents.acp import acp_agent
from ohm_subagents.testing import quick_ohm

pytestmark = pytest.mark.anyio


def local(name="calc", *arguments):
    from acp.schema import EnvVariable, McpServerStdio

    entry = mcp_servers.entry(*arguments) if arguments else {"command": "calc", "args": []}
    return McpServerStdio(name=name, **entry, env=[EnvVariable(name="KEY", value="k")])


def remote(name, url):
    from acp.schema import HttpHeader, HttpMcpServer

    return HttpMcpServer(type="http", name=name, url=url, headers=[HttpHeader(name="A", value="b")])


def old():
    from acp.schema import SseMcpServer

    return SseMcpServer(type="sse", name="old", url="https://example.com", headers=[])


def test_they_are_those_of_ohm_json_by_names_that_tools_may_have():
    from ohm_subagents.acp.mcp_servers import servers_of, tools_of

    servers = servers_of([local("My calc__v2!"), remote("web", "https://example.com/mcp")]).unwrap()
    first, second = servers.values()
    assert tools_of(servers) == ("mcp__My_calc_v2__*", "mcp__web__*")
    assert (first.command, first.env, second.url, second.headers) == (
        "calc",
        {"KEY": "k"},
        "https://example.com/mcp",
        {"A": "b"},
    )


async def test_one_that_cannot_be_used_is_refused_in_one_sentence(tmp_path):
    wrong = {
        "^The MCP server 'old' is reached by 'sse'; allowed: a command, or 'http'.$": [old()],
        "^Two MCP servers are called 'calc'. Give each a name of its own.$": [local(), local()],
        "^The MCP server 'web' cannot be used: 'url' has to be ": [remote("web", "nowhere")],
        "^This agent opens no MCP servers of an editor, and it passes on: calc.$": [local()],
    }
    async with quick_ohm() as ohm, editor_of(acp_agent(ohm)) as editor:
        for sentence, servers in wrong.items():
            with refused(sentence):
                await editor.connection.new_session(cwd=f"{tmp_path}", mcp_servers=servers)


@pytest.mark.slow
async def test_a_subagent_calls_a_tool_of_the_editor_and_another_session_has_none(tmp_path):
    import acp

    answers = [Say(Call("mcp__calc__add", {"a": 2, "b": 3})), Say("Five.")]
    async with ModelServer(lambda request: answers[len(request.tool_results)]) as server:
        config = (
            f'{{"providers": {{"acme": {{"baseUrl": "{server.url}", "apiKeyEnv": "ACME_KEY", "models": ["small"]}}}}, '
            '"subagents": {"model": "acme/small"}}'
        )
        env = place_of(tmp_path, config=config, ACME_KEY="k")
        editor = Editor()
        async with acp.spawn_agent_process(editor, f"{EXECUTABLE}", "acp", "--agent", "finder", env=env) as (asked, _):
            with_tools = await asked.new_session(cwd=f"{tmp_path}", mcp_servers=[local("calc", "calc", os.devnull)])
            without = await asked.new_session(cwd=f"{tmp_path}", mcp_servers=[])
            answer = await asked.prompt(session_id=with_tools.session_id, prompt=[acp.text_block("Add.")])
            await asked.prompt(session_id=without.session_id, prompt=[acp.text_block("Add.")])

    assert (answer.stop_reason, server.requests[1].tool_results) == ("end_turn", ["5"])
    given = [any(name.startswith("mcp__calc__") for name in request.tool_names) for request in server.requests]
    assert given[:2] == [True, True]
    assert not any(given[2:])
    assert editor.of("tool_call_update")[-1].status
