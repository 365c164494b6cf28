"""The other doors to the tasks of a server: the command line, and MCP clients."""

import anyio
import pytest
import typer
from loops import real_clocks_slow_on_trio
from mcp import Client
from mcp_tasks import TasksExtension, ask, begun

from ohm_subagents._terminal.command import typed_server
from ohm_subagents.acp.ohms import OhmOfEachDirectory
from ohm_subagents.cli.call import call
from ohm_subagents.cli.run import Typed, detached, run
from ohm_subagents.config import McpServer
from ohm_subagents.mcp import mcp_server

pytestmark = pytest.mark.anyio
START = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"}


@real_clocks_slow_on_trio
async def test_an_mcp_client_and_a_program_reach_the_same_tasks(desk):
    async with desk.server(), desk.program() as ohm:
        async with desk.program() as door, Client(mcp_server(door), extensions=[TasksExtension()]) as client:
            task_id = (await begun(client, "task", START)).task_id
            assert (await ask(client, "tasks/get", task_id)).status == "working"
        handle = ohm.handle(task_id)
        await desk.tell("hello")
        assert (await handle.wait()).unwrap().output == "hello to p"
        async with desk.program() as door, Client(mcp_server(door), extensions=[TasksExtension()]) as client:
            state = await ask(client, "tasks/get", task_id)
    assert (state.status, state.result["_meta"]["ohm/envelope"]["output"]) == ("completed", "hello to p")


@pytest.fixture
def typed(desk, monkeypatch):
    """The options of a command in the project of the test."""
    for name, value in desk.env.items():
        monkeypatch.setenv(name, value)
    config = desk.directory / "other.json"
    config.write_text('{"subagentBackend": "waiting"}')
    return Typed(cwd=desk.directory, config=config, server=str(desk.socket), as_json=False)


@real_clocks_slow_on_trio
async def test_the_sessions_of_an_editor_are_tasks_of_the_server_that_was_typed_and_of_no_other(desk, typed):
    ohms = OhmOfEachDirectory(config=typed.config, server=typed.server)
    async with desk.server():
        ohm = (await ohms.enter(desk.directory, {})).unwrap()
        task_id = (await ohm.start("finder", "p")).id
        await ohms.leave(ohm)
        ohm = (await ohms.enter(desk.directory, {"calc": McpServer(command="calc")})).unwrap()
        async with anyio.create_task_group() as group:
            group.start_soon(desk.tell, "hello")
            assert (await ohm.handle(task_id).wait()).unwrap().output == "hello to p"
        await ohms.leave(ohm)


def test_a_server_that_is_auto_but_for_its_spelling_is_refused_before_anything_starts():
    with pytest.raises(typer.BadParameter, match=r"No server listens at 'atuo'\. Did you mean 'auto'\?"):
        typed_server("atuo")
    assert [typed_server(one) for one in ("auto", "run/ohm.sock")] == ["auto", "run/ohm.sock"]


@real_clocks_slow_on_trio
async def test_a_task_of_ohm_run_detach_goes_on_when_the_command_is_over(desk, typed, capsys):
    async with desk.server():
        assert await detached("finder", "p", {}, typed) == 0
        task_id = capsys.readouterr().out.strip()
        assert await detached("nobody", "p", {}, typed) == 2
        assert "nobody" in capsys.readouterr().err
        async with desk.program(config=typed.config) as ohm, anyio.create_task_group() as group:
            group.start_soon(desk.tell, "hello")
            assert (await ohm.handle(task_id).wait()).unwrap().output == "hello to p"


@real_clocks_slow_on_trio
async def test_ohm_run_detach_tells_what_of_its_options_counts_for_nothing(desk, typed, capsys):
    async with desk.server(), anyio.create_task_group() as group:
        assert await detached("finder", "p", {"allow": ["raed", "read"]}, typed) == 0
        said = capsys.readouterr()
        group.start_soon(desk.tell, "hello")
        async with desk.program(config=typed.config) as ohm:
            assert (await ohm.handle(said.out.strip()).wait()).is_ok()
    wrong = "'raed', which 'finder' does not have: it adds no tool. Did you mean 'read'?"
    assert said.err == f"warning: `allow` of the call names {wrong}\n"


@real_clocks_slow_on_trio
async def test_ohm_run_and_ohm_call_with_a_server_print_what_they_print_without(desk, typed, capsys):
    async with desk.server(), anyio.create_task_group() as group:
        group.start_soon(desk.tell, "hello")
        assert await run("finder", "p", {}, typed) == 0
        assert capsys.readouterr().out == "hello to p\n"
        group.start_soon(desk.tell, "again")
        assert (
            await call("task", '{"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"}', typed)
            == 0
        )
        assert "again to p" in capsys.readouterr().out
