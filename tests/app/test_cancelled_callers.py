"""A program on asyncio cancels its tasks itself, without a scope of anyio: whatever waits for an Ohm then ends so."""

import asyncio
from contextlib import asynccontextmanager, suppress

import anyio
import pytest
from loops import one_loop

from ohm_subagents.plugin import Tool, ToolSuiteSpec, hookimpl
from ohm_subagents.testing import ScriptedBackend, Step, quick_ohm

pytestmark = [pytest.mark.anyio, one_loop]
START = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"}


class Waiting:
    """A suite whose tool, and what it does when a session starts, never end."""

    @staticmethod
    def _build(context):
        async def wait(_call):
            await anyio.sleep_forever()

        context.host.on("session_start", wait)
        tool = Tool(
            name="wait",
            label="Wait",
            description="Waits.",
            input_schema={"type": "object"},
            execute=wait,
            call_view=lambda _arguments, _theme: "wait",
        )
        return (tool,)

    @hookimpl
    def ohm_tool_suites(self):
        """Offer it."""
        return [ToolSuiteSpec(name="waiting", summary="Waits.", build=self._build)]


async def waited(ohm):
    handle = await ohm.start("finder", "look")
    return await handle.wait()


USES = {
    "run": lambda ohm: ohm.run("finder", "look"),
    "a handle": waited,
    "task": lambda ohm: ohm.call("task", START),
    "a tool of a plugin": lambda ohm: ohm.call("wait", {}),
    "a handler of a plugin": lambda ohm: ohm.emit("session_start"),
}


@asynccontextmanager
async def using(use):
    """An `Ohm` that a task of its own waits for."""
    backend = ScriptedBackend(default=Step(gate=anyio.Event()))
    async with quick_ohm(backend=backend, plugins=[Waiting()], suites=["task", "waiting"]) as ohm:
        task = asyncio.create_task(use(ohm))
        await anyio.wait_all_tasks_blocked()
        yield ohm, task


@pytest.mark.parametrize("use", [*USES.values()], ids=[*USES])
async def test_a_task_that_is_cancelled_has_been_cancelled(use):
    async with using(use) as (ohm, task):
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        ran = [one.status for one in ohm.store.tasks() if use is not waited]

    assert task.cancelled()
    assert ran in ([], ["cancelled"])


@pytest.mark.parametrize("use", [*USES.values()], ids=[*USES])
async def test_a_time_that_is_over_is_told_as_that(use):
    limits = []

    async def limited(ohm):
        async with asyncio.timeout(None) as limit:
            limits.append(limit)
            await use(ohm)

    async with using(limited) as (_, task):
        limits[0].reschedule(asyncio.get_running_loop().time())
        with pytest.raises(TimeoutError):
            await task
