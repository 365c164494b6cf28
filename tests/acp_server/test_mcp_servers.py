"""MCP servers that an editor passes on are tools of the subagents of that session."""

import os

import acp
import mcp_servers
import pytest
from acp.schema import EnvVariable, HttpHeader, HttpMcpServer, McpServerStdio, SseMcpServer
from acp_editor import Editor, editor_of
from command_line import EXECUTABLE
from mcp_process import place_of
from model_server import Call, ModelServer, Say

from ohm_subagents.acp import acp_agent
from ohm_subagents.acp.mcp_servers import servers_of, tools_of
from ohm_subagents.contract import Err
from ohm_subagents.testing import quick_ohm


def local(name="calc", *arguments):
    entry = mcp_servers.entry(*arguments) if arguments else {"command": "calc", "args": []}
    return McpServerStdio(name=name, **entry, env=[EnvVariable(name="KEY", value="k")])


def remote(name, url):
    return HttpMcpServer(type="http", name=name, url=url, headers=[HttpHeader(name="A", value="b")])


def test_they_are_those_of_ohm_json_by_names_that_tools_may_have():
    servers = servers_of([local("My calc__v2!"), remote("web", "https://example.com/mcp")]).unwrap()
    first, second = servers.values()
    assert tools_of(servers) == ("mcp__My_calc_v2__*", "mcp__web__*")
    assert (first.command, first.env, second.url, second.headers) == (
        "calc",
        {"KEY": "k"},
        "https://example.com/mcp",
        {"A": "b"},
    )


WRONG = {
    "MCP server 'old' is reached by 'sse'; allowed: a command, or 'http'.": [
        SseMcpServer(type="sse", name="old", url="https://example.com", headers=[])
    ],
    "Two MCP servers are called 'calc'. Give each a name of its own.": [local(), local()],
    "MCP server 'web' cannot be used: 'url' has to be ": [remote("web", "nowhere")],
}


@pytest.mark.parametrize("sentence", WRONG)
def test_one_that_cannot_be_used_is_refused_in_one_sentence(sentence):
    refused = servers_of(WRONG[sentence])
    assert isinstance(refused, Err)
    assert sentence in refused.err_value


@pytest.mark.anyio
async def test_an_agent_of_a_program_says_that_it_opens_none(tmp_path):
    async with quick_ohm() as ohm, editor_of(acp_agent(ohm)) as editor:
        with pytest.raises(acp.RequestError, match="This agent opens no MCP servers of an editor"):
            await editor.connection.new_session(cwd=f"{tmp_path}", mcp_servers=[local()])


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_subagent_calls_a_tool_of_the_editor_and_another_session_has_none(tmp_path):
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
