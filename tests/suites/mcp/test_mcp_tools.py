"""Tools of MCP servers inside a run: real servers, started by a subagent that names their tools."""

import base64
import json
import os
import socket
import subprocess
import sys
from contextlib import aclosing

import anyio
import mcp_servers
import psutil
import pytest
from model_server import Call, ModelServer, Say

from ohm_subagents import Ohm
from ohm_subagents.config import McpServer
from ohm_subagents.contract import Profile, ToolPolicy, ToolUpdated
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    """pydantic-ai runs on asyncio only."""
    return "asyncio"


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


@pytest.fixture
def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def refused(port):
    with socket.socket() as client:
        client.settimeout(5)
        return client.connect_ex(("127.0.0.1", port)) != 0


def profile(*tools, id="user"):
    return Profile(id=id, name=id, summary="Uses tools.", prompt="You use tools.", tools=ToolPolicy(allowed=tools))


def opened(server, servers, *tools, cwd=".", config=None, env=None, suites=None, **more):
    config = {
        "providers": {"acme": {"baseUrl": server.url, "apiKeyEnv": "ACME_KEY", "models": ["small"]}},
        "subagents": {"model": "acme/small"},
        "mcpServers": servers,
        **(config or {}),
    }
    marker = {"OHM_SUBAGENT_RUN_ID": os.environ["OHM_SUBAGENT_RUN_ID"]}
    env = HERMETIC | marker | {"ACME_KEY": "k", "PATH": os.environ["PATH"]} | (env or {})
    env["OHM_SUBAGENTS_LOAD_PLUGINS"] = "mcp"
    return Ohm.open(config=config, env=env, profiles=[profile(*tools)], cwd=cwd, suites=suites, **more)


def steps(*answers):
    """A model that takes these steps in each conversation."""
    return lambda request: answers[len(request.tool_results)]


def calling(name, /, **arguments):
    return Say(Call(f"mcp__calc__{name}", arguments))


async def results(servers, *calls, tools=("mcp__calc__*",), **options):
    """Return what the model read of each call, and the task."""
    async with (
        ModelServer(steps(*calls, Say("Done."))) as server,
        opened(server, servers, *tools, **options) as ohm,
    ):
        handle = await ohm.start("user", "go")
        await handle.wait()
        task = ohm.task(handle.id)
    return server.requests[-1].tool_results, task, server.requests


def started(log):
    return [int(line.split()[1]) for line in log.read_text().splitlines() if line.startswith("pid")]


of_a_kind = pytest.mark.parametrize("kind", ["plain", pytest.param("calc", marks=pytest.mark.slow)])
"""For what a server without the imports of the official library shows too, beside a test of one that has them."""


@pytest.mark.slow
async def test_a_subagent_calls_the_tools_that_its_profile_names_and_nothing_is_left(log):
    read, _, requests = await results(
        {"calc": mcp_servers.entry("calc", str(log))},
        calling("add", a=2, b=3),
        calling("fail"),
        tools=("read", "mcp__calc__add", "mcp__calc__f*"),
    )

    assert read[0] == "5"
    assert "Error executing tool fail" in read[1]
    assert requests[0].tool_names == ["read", "mcp__calc__add", "mcp__calc__fail"]
    assert not any(map(psutil.pid_exists, started(log)))


@pytest.mark.slow
async def test_a_program_gives_a_call_the_tools_of_a_server_of_its_own(log):
    entry = McpServer.model_validate(mcp_servers.entry("calc", str(log)))
    async with (
        ModelServer(steps(calling("add", a=2, b=3), Say("Done."))) as server,
        opened(server, {}, "read", mcp_servers={"calc": entry}) as ohm,
    ):
        await ohm.run("user", "go", tools=["mcp__calc__add"])

    assert server.requests[-1].tool_results == ["5"]
    assert server.requests[0].tool_names == ["read", "mcp__calc__add"]


@pytest.mark.slow
async def test_children_share_one_connection_and_a_stateful_server_has_one_for_each_task(log):
    async def counted(sharing):
        script = ModelServer(lambda request: [calling("count"), Say("Done.")][len(request.tool_results)])
        entry = mcp_servers.entry("calc", str(log), sharing=sharing)
        async with script as server, opened(server, {"calc": entry}, "mcp__calc__*") as ohm:
            items = [{"subagent_type": "user", "description": "d", "prompt": "p"}] * 3
            await ohm.call("task", {"op": "start", "tasks": items})
        return sorted(one for request in server.requests for one in request.tool_results)

    assert await counted("all") == ["1", "2", "3"]
    assert len(started(log)) == 1
    assert await counted("task") == ["1", "1", "1"]
    assert len(started(log)) == 1 + 3


@pytest.mark.slow
@of_a_kind
async def test_a_server_that_ends_in_a_call_costs_that_call_and_is_started_again(log, kind):
    read, task, _ = await results({"calc": mcp_servers.entry(kind, str(log))}, calling("die"), calling("add", a=1, b=1))

    assert "The MCP server 'calc' did not carry out 'die': it ended the connection." in read[0]
    assert read[1] == "2"
    assert len(started(log)) == 2
    assert task.diagnostics == ()


@of_a_kind
async def test_progress_is_shown_and_cancelling_the_task_reaches_the_server(log, kind):
    entry = mcp_servers.entry(kind, str(log))
    async with ModelServer(calling("work")) as server, opened(server, {"calc": entry}, "mcp__calc__*") as ohm:
        handle = await ohm.start("user", "go")
        async with aclosing(handle.events()) as events:
            async for event in events:
                if isinstance(event, ToolUpdated):
                    assert event.text == "half"
                    break
        await handle.cancel()
        await anyio.to_thread.run_sync(wait_for, log, "cancelled")
        seen = [line.split()[0] for line in log.read_text().splitlines()]
    assert seen[:2] == ["pid", "working"]
    assert log.read_text().splitlines()[-1] == "cancelled"


@pytest.mark.slow
@of_a_kind
async def test_results_are_bounded_redacted_and_say_what_cannot_be_shown(log, kind):
    secret = "sk-of-the-server-1234"
    entry = mcp_servers.entry(kind, str(log), env={"CALC_KEY": "${MINE}", "PLAIN": "${NONE:-plain}"})
    read, _, _ = await results(
        {"calc": entry},
        calling("long"),
        calling("picture"),
        calling("show", name="CALC_KEY"),
        calling("show", name="PLAIN"),
        calling("show", name="ACME_KEY"),
        env={"MINE": secret},
    )

    assert len(read[0]) < 100_100
    assert read[0].endswith("[cut: 100000 more characters]")
    assert "[image/png, 300 bytes, sha256 " in read[1]
    assert "this model cannot read images" in read[1]
    assert read[2] == "[REDACTED]"
    assert read[3] == "plain"
    assert read[4] == "not set"


async def test_an_image_is_shown_to_a_model_that_reads_images():
    model = {"id": "small", "supportsImages": True}
    with mcp_servers.web("picture") as url:
        async with ModelServer(steps(calling("t0"), Say("Seen."))) as server:
            config = {"providers": {"acme": {"baseUrl": server.url, "apiKeyEnv": "ACME_KEY", "models": [model]}}}
            async with opened(server, {"calc": {"url": url}}, "mcp__calc__*", config=config) as ohm:
                await ohm.run("user", "go")

    shown = json.dumps(server.requests[-1].messages)
    assert f"data:image/png;base64,{base64.b64encode(b'PNG' * 100).decode()}" in shown


async def test_a_list_that_changes_is_asked_for_again():
    script = [calling("t0"), Say("Done."), Say("Seen.")]
    servers = {"calc": mcp_servers.entry("grows")}
    async with ModelServer(*script) as server, opened(server, servers, "mcp__calc__*") as ohm:
        for _ in range(2):
            await ohm.run("user", "go")
    assert [server.requests[at].tool_names for at in (0, -1)] == [["mcp__calc__t0"], ["mcp__calc__t0", "mcp__calc__t1"]]


@pytest.mark.slow
async def test_a_tool_that_the_server_adds_is_there_at_the_next_run(log):
    entry = mcp_servers.entry("calc", str(log))
    script = [calling("grow"), Say("Done."), Say("Seen.")]
    async with ModelServer(*script) as server, opened(server, {"calc": entry}, "mcp__calc__*") as ohm:
        for _ in range(2):
            handle = await ohm.start("user", "go")
            await handle.wait()
    assert "mcp__calc__fresh" not in server.requests[0].tool_names
    assert "mcp__calc__fresh" in server.requests[-1].tool_names


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        (mcp_servers.entry("silent", timeout=300), "did not answer within 0.3 s of its start."),
        (mcp_servers.entry("broken"), "cannot be used: its process ended with code 1: cannot find the config."),
        ({"command": "no-such-command"}, 'cannot be started: The command "no-such-command" was not found'),
        (
            mcp_servers.entry("many"),
            "has 5000 tools that the profile names, more than 128; name those that are needed.",
        ),
        ({"command": "x", "env": {"K": "${NOT_SET}"}}, "needs the variable NOT_SET, which is not set."),
        ({"url": "http://127.0.0.1:9/mcp"}, "cannot be used: "),
    ],
    ids=["silent", "broken", "absent", "many", "variable", "refused"],
)
async def test_a_server_that_cannot_be_used_costs_its_tools_and_one_sentence(entry, sentence):
    _, task, requests = await results({"calc": entry}, tools=("read", "mcp__calc__*"))

    (said,) = [one.message for one in task.diagnostics]
    assert said.startswith("The MCP server 'calc' ")
    assert sentence in said
    assert said.endswith("The subagent works without them.")
    assert requests[0].tool_names == ["read"]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("flood", "it wrote more than 1000 lines that are no messages"),
        ("huge", "it sent a message of more than 8 MiB"),
        ("strict", "Method not found"),
    ],
)
async def test_a_flood_costs_a_call_and_one_sentence(kind, sentence):
    read, _, _ = await results({"calc": mcp_servers.entry(kind)}, calling("t0"))

    assert read == [f"{{\"error\":\"The MCP server 'calc' did not carry out 't0': {sentence}.\"}}"]


@pytest.mark.sample(2)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        pytest.param("huge", "it sent a message of more than 8 MiB", marks=pytest.mark.slow),
        ("endless", "it sent a message of more than 8 MiB"),
        pytest.param("stream", "it ended the connection", marks=pytest.mark.slow),
        ("zipped", "it compressed an answer as 'gzip', which nobody has asked for"),
    ],
)
async def test_an_answer_over_http_has_a_size_too(kind, sentence):
    with mcp_servers.web(kind) as url:
        read, _, requests = await results({"calc": {"url": url}}, calling("t0"))

    (tool,) = [one["function"] for one in requests[0].body["tools"]]
    assert not tool["parameters"].get("properties")
    assert ("is left out" in tool["description"]) == (kind == "endless"), "of whose tool the schema is too long"
    assert read == [f"{{\"error\":\"The MCP server 'calc' did not carry out 't0': {sentence}.\"}}"]


async def test_one_of_many_tools_can_be_named():
    _, task, requests = await results(
        {"calc": mcp_servers.entry("many")}, tools=("mcp__calc__t4999", "mcp__calc__nothing")
    )

    assert requests[0].tool_names == ["mcp__calc__t4999"]
    assert [one.message for one in task.diagnostics] == [
        "'mcp__calc__nothing' is no tool that there is now, and is left out. The subagent works without them."
    ]


@pytest.mark.slow
async def test_a_call_that_takes_too_long_is_given_up():
    read, _, _ = await results({"calc": mcp_servers.entry("mute", timeout=3000)}, calling("t0"))

    assert "did not answer 't0' within 3 s" in read[0]


async def test_nothing_is_started_or_imported_while_no_profile_names_a_tool(log):
    _, task, _ = await results({"calc": mcp_servers.entry("calc", str(log))}, tools=("read",))

    assert task.diagnostics == ()
    assert not log.exists()


@pytest.mark.slow
async def test_a_server_that_runs_already_is_asked_by_its_address(log, free_port):
    command = [sys.executable, mcp_servers.__file__, "http", str(log), str(free_port)]
    process = await anyio.open_process(command, stderr=None, stdout=None)
    try:
        while await anyio.to_thread.run_sync(refused, free_port):
            assert process.returncode is None
        read, _, _ = await results({"calc": {"url": f"http://127.0.0.1:{free_port}/mcp"}}, calling("add", a=2, b=2))
    finally:
        process.kill()
        await process.wait()
    assert read == ["4"]


HOST = """
import json, sys
import anyio
from ohm_subagents import Ohm
from ohm_subagents.contract import Profile, ToolPolicy
from ohm_subagents.testing import HERMETIC

async def main():
    config, env = json.loads(sys.argv[1])
    tools = ToolPolicy(allowed=("mcp__calc__*",))
    user = Profile(id="user", name="user", summary="s", prompt="p", tools=tools)
    async with Ohm.open(config=config, env={**HERMETIC, **env}, profiles=[user]) as ohm:
        await ohm.run("user", "go")

anyio.run(main)
"""


@pytest.mark.slow
async def test_a_server_ends_when_the_process_of_its_ohm_is_killed(log):
    async with ModelServer(calling("work")) as server:
        config = {
            "providers": {"acme": {"baseUrl": server.url, "apiKeyEnv": "ACME_KEY", "models": ["small"]}},
            "subagents": {"model": "acme/small"},
            "mcpServers": {"calc": mcp_servers.entry("calc", str(log))},
        }
        names = ("PATH", "OHM_SUBAGENT_RUN_ID")
        env = {name: os.environ[name] for name in names} | {"ACME_KEY": "k"}
        host = await anyio.open_process(
            [sys.executable, "-c", HOST, json.dumps([config, env])], stdout=None, stderr=None
        )
        await anyio.to_thread.run_sync(wait_for, log, "working")
        (pid,) = started(log)
        process = psutil.Process(pid)
        host.kill()
        await host.wait()
        await anyio.to_thread.run_sync(process.wait, 30)
    assert not process.is_running()


def wait_for(log, word):
    """Read a file as it grows, until it has a word."""
    log.touch()
    with subprocess.Popen(["tail", "-n", "+1", "-f", str(log)], stdout=subprocess.PIPE, text=True) as tail:
        next(line for line in tail.stdout if word in line)
        tail.kill()


@pytest.mark.slow
async def test_a_server_that_the_configuration_has_no_more_ends(log):
    entry = mcp_servers.entry("calc", str(log))
    async with (
        ModelServer(calling("add", a=1, b=1), Say("Done.")) as server,
        opened(server, {"calc": entry}, "mcp__calc__*") as ohm,
    ):
        await ohm.run("user", "go")
        (pid,) = started(log)
        process = psutil.Process(pid)
        await ohm.reconfigure(config={"mcpServers": {"calc": {**entry, "disabled": True}}})
        assert ohm.inspect().tool_prefixes == ()
        await anyio.to_thread.run_sync(process.wait, 30)
    assert not process.is_running()
