"""Cancelled runs leave nothing; parallel runs share connections and nothing else."""

import os
from pathlib import Path

import anyio
import pytest
from anyio import get_running_tasks
from model_server import Call, Gate, ModelServer, Reply, Request, Say, Stall
from subagent_runs import EventLog, acme, answer, child_tool, opened, request, tool_of

from ohm_subagents._plugins.suites.tool import ToolCall, ToolResult
from ohm_subagents.contract import TextDelta, ToolEnded, ToolStarted

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("reply", [Say("one", Gate(), "two"), Stall()], ids=["mid-stream", "before-the-answer"])
async def test_cancelling_closes_the_socket_and_leaves_no_task(reply: Reply) -> None:
    async with ModelServer(Say("warm"), reply) as server, opened(acme(server)) as backend:
        await backend.run(request(), EventLog())
        before = {task.id for task in get_running_tasks()}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(backend.run, request(), EventLog())
            await server.until(lambda seen: len(seen.requests) == 2)
            tasks.cancel_scope.cancel()
        await server.until(lambda seen: seen.aborts == 1)
        assert {task.id for task in get_running_tasks()} == before


async def test_cancellation_is_not_swallowed() -> None:
    returned: list[object] = []

    async def run() -> None:
        returned.append(await backend.run(request(), EventLog()))

    async with ModelServer(Stall()) as server, opened(acme(server)) as backend, anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await server.until(lambda seen: len(seen.requests) == 1)
        tasks.cancel_scope.cancel()
    assert returned == []


async def test_cancelling_a_running_tool_reaches_it() -> None:
    started, stopped = anyio.Event(), anyio.Event()

    async def execute(call: ToolCall) -> ToolResult:
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            stopped.set()
        raise AssertionError(call)

    tool = tool_of("hang", execute)
    log = EventLog()
    async with (
        ModelServer(Say(Call("hang"))) as server,
        opened(acme(server)) as backend,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(backend.run, request(child_tools=(tool,)), log)
        await started.wait()
        tasks.cancel_scope.cancel()
    assert stopped.is_set()
    assert len(log.of(ToolStarted)) == 1
    assert log.of(ToolEnded) == [], "the engine closes open calls"


async def test_cancelling_leaves_no_child_process(tmp_path: Path) -> None:
    pipe = tmp_path / "alive"
    os.mkfifo(pipe)
    # The shell and its child hold the pipe open, so it ends when both are gone.
    command = "exec 3>alive; echo started >&3; sleep 1000; true"
    async with (
        ModelServer(Say(Call("bash", {"command": command}))) as server,
        opened(acme(server)) as backend,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(backend.run, request(cwd=tmp_path, tools=("bash",)), EventLog())
        async with await anyio.open_file(pipe) as alive:
            assert await alive.readline() == "started\n"
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                assert await alive.read() == ""


def echo_after_one_tool(asked: Request) -> Reply:
    return Say(f"answer to {asked.prompt}") if asked.tool_results else Say("thinking ", Call("look"))


@pytest.mark.slow
@pytest.mark.parametrize("many", [15, pytest.param(50, marks=pytest.mark.slow)])
async def test_many_parallel_runs_share_connections_and_do_not_mix(many: int) -> None:
    look = child_tool("look", ToolResult(text="seen", details={}))
    logs = [EventLog() for _ in range(many)]
    texts: dict[int, str] = {}

    async def run(number: int) -> None:
        texts[number] = answer(await backend.run(request(f"prompt {number}", child_tools=(look,)), logs[number]))

    async with ModelServer(echo_after_one_tool) as server, opened(acme(server)) as backend:
        for _ in range(2):
            async with anyio.create_task_group() as tasks:
                for number in range(many):
                    tasks.start_soon(run, number)
        assert len(server.requests) == 4 * many
        assert server.connections <= server.most_connections(at_once=many)
    assert texts == {number: f"answer to prompt {number}" for number in range(many)}
    for number, log in enumerate(logs):
        assert "".join(delta.text for delta in log.of(TextDelta)) == f"thinking answer to prompt {number}" * 2


async def test_runs_in_a_row_use_one_connection_and_closing_the_backend_closes_it() -> None:
    async with ModelServer(lambda _: Say("ok")) as server:
        async with opened(acme(server)) as backend:
            for _ in range(5):
                await backend.run(request(), EventLog())
            assert server.connections == 1
            assert server.open_connections == 1
        await server.until(lambda seen: seen.open_connections == 0)
        assert server.aborts == 0
