"""Tasks of another process that a subagent has started: below its task, and counted for it."""

import asyncio
import contextvars
import shutil
import sqlite3
import sys
from pathlib import Path

import anyio
import pytest
from acting import ALL, ActingBackend

from ohm_subagents import Approve, Budget, Ohm
from ohm_subagents.contract import ToolEnded, ToolStarted, Usage, UsageAdded
from ohm_subagents.plugin import Capability
from ohm_subagents.shell import child_environment
from ohm_subagents.store import TaskQuery
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

PROGRAM = """
import os, sys
sys.path[:0] = sys.argv[1:]
import anyio
from test_nested_accounts import nested

anyio.run(nested, dict(os.environ))
"""
CONFIG = {"subagentBackend": "acting", "subagents": {"budget": {"depth": 9}}}


async def nested(env):
    """The work of a process that a subagent starts: a task, and one below it."""

    async def act(request, sink):
        sink.emit(UsageAdded(usage=Usage(requests=3)))
        if request.prompt == "outer":
            await ohm.run("finder", "inner")
        return "done"

    async with Ohm.open(env=env, config=CONFIG, plugins=[ActingBackend(act)]) as ohm:
        await ohm.run("finder", "outer")


async def here(env):
    """As if in another process: what belongs to the code around it is not known."""
    await asyncio.get_running_loop().create_task(nested(env), context=contextvars.Context())


async def in_a_process(env):
    tests = Path(__file__).parents[1]
    await anyio.run_process([sys.executable, "-c", PROGRAM, f"{tests / 'support'}", f"{tests / 'app'}"], env=env)


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.parametrize("start", [here, pytest.param(in_a_process, marks=pytest.mark.slow)])
async def test_what_a_nested_ohm_used_counts_once_for_the_task_that_started_it(tmp_path, start):
    async def act(request, sink):
        sink.emit(UsageAdded(usage=Usage(requests=1)))
        if request.prompt == "Nest.":
            sink.emit(ToolStarted(call_id="1", tool="bash"))
            await start({**env, **child_environment(request)})
            sink.emit(ToolEnded(call_id="1", tool="bash", status="success"))
        return "done"

    env = HERMETIC | {"PI_CONFIG_DIR": f"{tmp_path}", "OHM_SUBAGENTS_STORE": "sqlite"}
    backend = ActingBackend(act, capabilities=ALL - {Capability.IN_PROCESS})
    async with Ohm.open(env=env, config=CONFIG, plugins=[backend]) as ohm:
        handle = await ohm.start("finder", "Nest.", budget=Budget(requests=50))
        await ohm.call("task", {"op": "send", "id": handle.id, "prompt": "And once more."})
        await handle.wait()
        envelope = ohm.envelope(handle.id)
        below = [one.unwrap() for one in ohm.store.list(TaskQuery(parent=handle.id))]

    assert [(one.usage.requests, one.tree_usage.requests) for one in below] == [(3, 6)]
    assert (envelope.usage.own.requests, envelope.usage.tree.requests) == (2, 8)
    assert envelope.remaining.requests == 50 - 8


async def test_what_was_charged_before_its_process_died_is_not_charged_again_to_a_task_that_is_taken_over(tmp_path):
    async def act(request, sink):
        sink.emit(UsageAdded(usage=Usage(requests=1)))
        if request.depth == 2:
            return "below"
        if "interrupted" not in request.prompt:
            await ohm.run("finder", "p")
        else:
            sink.emit(ToolStarted(call_id="1", tool="bash"))
            sink.emit(ToolEnded(call_id="1", tool="bash", status="success"))
        await request.gate.tool("edit", {"path": "a"})
        return "done"

    def opened(folder):
        env = HERMETIC | {"PI_CONFIG_DIR": f"{folder}", "OHM_SUBAGENTS_STORE": "sqlite"}
        config = {
            "subagentBackend": "acting",
            "subagents": {"task": {"tools": {"ask": ["edit"]}}, "budget": {"depth": 2}},
        }
        backend = ActingBackend(act, capabilities=ALL - {Capability.IN_PROCESS})
        return Ohm.open(env=env, config=config, plugins=[backend])

    before, after = tmp_path / "before", tmp_path / "after"
    async with opened(before) as ohm:
        handle = await ohm.start("task", "p")
        while not ohm.requests():  # noqa: ASYNC110  a test has no better news of it
            await anyio.sleep(0.01)
        [request] = ohm.requests()
        await ohm.store.flush()
        shutil.copytree(before, after, ignore=shutil.ignore_patterns("ohm.subagents.wakers"))  # as after a kill
    with sqlite3.connect(after / "ohm.subagents.tasks.sqlite3") as connection:
        connection.execute("UPDATE owners SET started = 'long ago'")
    connection.close()
    async with opened(after) as ohm:
        assert ohm.task(handle.id).activity.tree_usage.requests == 2
        await ohm.answer(request.id, Approve())
        await ohm.handle(handle.id).wait()
        envelope = ohm.envelope(handle.id)
    assert (envelope.usage.own.requests, envelope.usage.tree.requests) == (2, 3)


async def test_what_a_nested_ohm_used_before_its_host_was_left_is_charged_when_the_task_goes_on(tmp_path):
    async def act(request, sink):
        sink.emit(UsageAdded(usage=Usage(requests=1)))
        if "interrupted" not in request.prompt:
            sink.emit(ToolStarted(call_id="1", tool="bash"))
            await here({**env, **child_environment(request)})
            sink.emit(ToolEnded(call_id="1", tool="bash", status="success"))
        await request.gate.tool("edit", {"path": "a"})
        return "done"

    def opened():
        subagents = {"task": {"tools": {"ask": ["edit"]}}, "budget": {"depth": 9, "requests": 50}}
        config = {"subagentBackend": "acting", "subagents": subagents}
        backend = ActingBackend(act, capabilities=ALL - {Capability.IN_PROCESS})
        return Ohm.open(env=env, config=config, plugins=[backend])

    env = HERMETIC | {"PI_CONFIG_DIR": f"{tmp_path}", "OHM_SUBAGENTS_STORE": "sqlite"}
    async with opened() as ohm:
        handle = await ohm.start("task", "p")
        while not ohm.requests():  # noqa: ASYNC110  a test has no better news of it
            await anyio.sleep(0.01)
    async with opened() as ohm:
        [request] = ohm.requests()
        await ohm.answer(request.id, Approve())
        await ohm.handle(handle.id).wait()
        envelope = ohm.envelope(handle.id)
    assert (envelope.usage.own.requests, envelope.usage.tree.requests) == (2, 8)
    assert envelope.remaining.requests == 50 - 8
