"""The mailbox of a parent agent, and the host that is notified: the end of a task in the background is told once."""

import anyio
import pytest
from anyio.lowlevel import checkpoint
from loops import one_loop

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC, MemoryHost, ScriptedBackend, Step, quick_ohm

pytestmark = pytest.mark.anyio
START = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"}
LATER = START | {"async": True}
ASYNC = {"subagents": {"asyncStart": "allow"}}


async def called(mailbox, arguments):
    call = await mailbox.begin("task", arguments)
    result = await call.wait()
    await mailbox.has_read(call)
    return result


async def taken(mailbox):
    await anyio.wait_all_tasks_blocked()
    return [each.task_id for each in await mailbox.take()]


async def test_what_settles_in_the_background_is_given_once():
    async with quick_ohm(config=ASYNC) as ohm:
        mailbox = ohm.mailbox()
        await called(mailbox, LATER)
        await called(mailbox, LATER)
        await anyio.wait_all_tasks_blocked()
        first, second = await mailbox.take()
        assert (first.task_id, second.task_id) == ("task_1", "task_2")
        assert first.text.startswith("task task_1 (finder · d) succeeded")
        assert await taken(mailbox) == []


@pytest.mark.parametrize("op", ["status", "wait"])
async def test_what_a_result_has_told_is_not_given_again(op):
    async with quick_ohm(config=ASYNC) as ohm:
        mailbox = ohm.mailbox()
        await called(mailbox, START)
        await called(mailbox, LATER)
        await anyio.wait_all_tasks_blocked()
        await called(mailbox, {"op": op, "ids": ["task_2"]})
        assert await taken(mailbox) == []


async def test_a_parent_gets_what_it_has_started_and_nothing_else():
    async with quick_ohm(config=ASYNC) as ohm:
        one, other = ohm.mailbox(), ohm.mailbox()
        await called(one, LATER)
        await called(other, LATER)
        await ohm.run("finder", "p")
        assert (await taken(one), await taken(other)) == (["task_1"], ["task_2"])


@one_loop  # trio's clock jumps while the file is written, and the limits of the run with it
async def test_a_parent_with_a_name_gets_after_a_restart_what_it_has_not_read(tmp_path):
    env = HERMETIC | {"PI_CONFIG_DIR": f"{tmp_path}", "OHM_SUBAGENTS_STORE": "sqlite"}
    config = {"subagentBackend": "scripted", **ASYNC}
    backend = ScriptedBackend(Step(text="a"), Step(text="b"), Step(text="c", gate=anyio.Event()))
    async with Ohm.open(env=env, config=config, plugins=[backend]) as ohm:
        mailbox = ohm.mailbox("chat-7")
        await called(mailbox, START)
        read = await called(mailbox, LATER)
        await called(mailbox, {"op": "wait", "id": read.details["task_id"]})
        cut = (await called(mailbox, LATER)).details["task_id"]
    async with Ohm.open(env=env, config=config, plugins=[backend]) as ohm:
        (left,) = await ohm.mailbox("chat-7").take()
        assert (left.task_id, left.status) == (cut, "cancelled")
        assert await taken(ohm.mailbox("chat-7")) == []


@pytest.mark.parametrize("steps", range(4))
async def test_whoever_is_cancelled_while_it_takes_loses_nothing_and_nobody_gets_it_twice(tmp_path, steps):
    env = HERMETIC | {"PI_CONFIG_DIR": f"{tmp_path}", "OHM_SUBAGENTS_STORE": "sqlite"}
    config = {"subagentBackend": "scripted", **ASYNC}
    async with Ohm.open(env=env, config=config, plugins=[ScriptedBackend(default=Step(text="a"))]) as ohm:
        mailbox, found = ohm.mailbox(), []
        started = [(await called(mailbox, LATER)).details["task_id"] for _ in range(2)]
        for task_id in started:
            await ohm.handle(task_id).wait()

        async def take():
            found.extend(each.task_id for each in await mailbox.take())

        async with anyio.create_task_group() as group:
            group.start_soon(take)
            group.start_soon(take)
            for _ in range(steps):
                await checkpoint()
            group.cancel_scope.cancel()
        while more := await taken(mailbox):
            found.extend(more)
    assert sorted(found) == started


async def test_a_host_is_notified_of_what_nobody_waits_for():
    host = MemoryHost()
    backend = ScriptedBackend(default=Step(text="done"))
    config = {"subagentBackend": "scripted", **ASYNC}
    async with Ohm.open(env=HERMETIC, config=config, plugins=[backend], host=host) as ohm:
        await ohm.call("task", START)
        await ohm.run("finder", "p")
        handle = await ohm.start("finder", "p")
        await handle.wait()
        assert host.deliveries == []
        later = (await ohm.call("task", LATER)).details["task_id"]
        await anyio.wait_all_tasks_blocked()
    (told,) = host.deliveries
    assert (told.task_id, told.status) == (later, "succeeded")
    assert "<task_output" in told.text


class Broken(MemoryHost):
    def notify(self, delivery):
        raise LookupError("no luck")


async def test_a_host_that_raises_costs_no_task():
    backend = ScriptedBackend(default=Step(text="done"))
    async with Ohm.open(env=HERMETIC, config={"subagentBackend": "scripted"}, plugins=[backend], host=Broken()) as ohm:
        handle = await ohm.start("finder", "p")
        await anyio.wait_all_tasks_blocked()
        assert (await handle.wait()).ok_value.output == "done"
        assert "no luck" in " ".join(map(str, ohm.diagnostics))
