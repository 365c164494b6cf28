"""Commands of one `Ohm` for a task of another are carried out there, once, and answered here."""

import asyncio
from contextlib import asynccontextmanager

import anyio
import pytest
from acting import ActingBackend
from another_process import another_process

from ohm_subagents import Approve, ErrorCode, Ohm
from ohm_subagents._orchestrator import elsewhere, waiting
from ohm_subagents._store import following
from ohm_subagents.contract import TaskSettled, TextDelta
from ohm_subagents.stores.sqlite import wakers
from ohm_subagents.testing import HERMETIC, EventLog, ScriptedBackend, Step

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


@asynccontextmanager
async def two(folder, *steps, **subagents):
    """Two `Ohm`s on one registry; only the first one has something to say."""
    env = HERMETIC | {"PI_CONFIG_DIR": str(folder), "OHM_SUBAGENTS_STORE": "sqlite"}
    config = {"subagentBackend": "scripted", "subagents": subagents}
    async with (
        Ohm.open(env=env, config=config, plugins=[ScriptedBackend(*steps)]) as owner,
        Ohm.open(env=env, config=config, plugins=[ScriptedBackend("not asked")]) as other,
    ):
        yield owner, other


async def started(ohm):
    """A task that runs, as the other one sees it."""
    handle = await ohm.start("finder", "p")
    await anyio.wait_all_tasks_blocked()
    await ohm.store.flush()
    return handle.id


class Taken:
    """The command that an `Ohm` takes first."""

    def __init__(self, ohm):
        self.control = ohm.store.control
        self.take, self.control.take = self.control.take, self
        self.id, self.is_taken = None, anyio.Event()

    def __call__(self, command_id):
        self.take(command_id)
        self.id = command_id
        self.is_taken.set()

    async def withdrawn(self):
        with anyio.fail_after(10):
            while self.control.state(self.id).status != "missed":  # noqa: ASYNC110  a row of a table sets no event
                await anyio.sleep(0.01)
        await anyio.sleep(0.05)


async def test_a_follow_up_of_another_ohm_is_the_next_run_and_its_answer_comes_back(tmp_path):
    gate = anyio.Event()
    async with two(tmp_path, Step(gate=gate, text="one"), "two") as (owner, other):
        task_id, taken = await started(owner), Taken(owner)
        async with anyio.create_task_group() as group:
            answers = []

            async def send():
                answers.append(await other.handle(task_id).send("and?"))

            group.start_soon(send)
            await taken.is_taken.wait()
            await anyio.wait_all_tasks_blocked()
            gate.set()
        task = owner.task(task_id)
    assert answers[0].unwrap().output == "two"
    assert [run.prompt for run in task.runs] == ["p", "and?"]


async def delegate(ohm):
    await ohm.call("delegate_to_subagents", {"tasks": [{"name": "n", "prompt": "p"}]})
    (task,) = ohm.store.recent()
    return task.runs[0].output


async def run(ohm):
    return (await ohm.run("task", "p")).unwrap().output


async def start(ohm):
    call = {"op": "start", "subagent_type": "task", "description": "d", "prompt": "p"}
    return (await ohm.call("task", call)).details["output"]


@pytest.mark.parametrize("waits", [delegate, run, start])
async def test_an_ohm_that_closes_during_the_follow_up_of_another_tells_it_and_keeps_its_own_success(tmp_path, waits):
    gate, log = anyio.Event(), EventLog()
    env = HERMETIC | {"PI_CONFIG_DIR": str(tmp_path), "OHM_SUBAGENTS_STORE": "sqlite"}
    config = {"subagentBackend": "scripted"}
    owners, told, answers = [], [], []

    async def own():
        plugins = [ScriptedBackend(Step(gate=gate, text="one"), Step(gate=anyio.Event(), text="late")), log]
        async with Ohm.open(env=env, config=config, plugins=plugins, suites=["delegate", "task"]) as owner:
            owners.append(owner)
            told.append(await waits(owner))

    async def send():
        answers.append(await other.handle(task.id).send("and?"))

    async with Ohm.open(env=env, config=config, plugins=[ScriptedBackend()]) as other:
        async with anyio.create_task_group() as group:
            group.start_soon(own)
            await log.until(lambda _task, event: event.kind == "run_started")
            task, _ = log.entries[-1]
            await owners[0].store.flush()
            taken = Taken(owners[0])
            group.start_soon(send)
            await taken.is_taken.wait()
            await anyio.wait_all_tasks_blocked()
            gate.set()
        kept = other.task(task.id)
    assert told == ["one"]
    assert answers[0].err_value.code == ErrorCode.TASK_ABORTED
    assert kept.status == "succeeded"
    assert [(run.prompt, run.outcome.kind) for run in kept.runs] == [("p", "succeeded"), ("and?", "cancelled")]


async def test_a_sender_that_waits_no_more_withdraws_its_follow_up(tmp_path):
    gate = anyio.Event()
    async with two(tmp_path, Step(gate=gate, text="one"), "two") as (owner, other):
        task_id, taken = await started(owner), Taken(owner)
        async with anyio.create_task_group() as group:
            group.start_soon(other.handle(task_id).send, "and?")
            await taken.is_taken.wait()
            group.cancel_scope.cancel()
        await taken.withdrawn()
        gate.set()
        await owner.handle(task_id).wait()
        assert [run.prompt for run in owner.task(task_id).runs] == ["p"]


async def test_nobody_looks_for_what_the_others_tell(tmp_path, monkeypatch):
    """A cancel, its reply, events and the end come though nobody would look for a minute."""
    monkeypatch.setattr(wakers, "LOOK_S", 60)
    monkeypatch.setattr(elsewhere, "_LOOK_S", 60)
    monkeypatch.setattr(following, "_LOOK_S", 60)
    async with two(tmp_path, Step(gate=anyio.Event())) as (owner, other):
        task_id = await started(owner)
        told = []
        with anyio.fail_after(10):
            async for event in other.handle(task_id).events():
                told.append(event.kind)
                if event.kind == "run_started":
                    assert await other.handle(task_id).cancel()
    assert told[-1] == "task_settled"
    assert [*(tmp_path / wakers.FOLDER).iterdir()] == []


async def test_nobody_looks_for_the_tasks_that_it_waits_for(tmp_path, monkeypatch):
    """A wait hears that a task of another `Ohm` asks, and later that it settles, though nobody looks for a minute."""
    monkeypatch.setattr(wakers, "LOOK_S", 60)
    monkeypatch.setattr(waiting, "_LOOK_S", 60)
    asks, ends = anyio.Event(), anyio.Event()

    async def act(request, _sink):
        await asks.wait()
        refusal = await request.gate.tool("edit", {"path": "a.py"}, call_id="1")
        await ends.wait()
        return refusal or "It is edited."

    env = HERMETIC | {"PI_CONFIG_DIR": str(tmp_path), "OHM_SUBAGENTS_STORE": "sqlite"}
    config = {"subagentBackend": "acting", "subagents": {"task": {"tools": {"ask": ["edit"]}}}}
    told = []
    async with (
        Ohm.open(env=env, config=config, plugins=[ActingBackend(act)]) as owner,
        Ohm.open(env=env, config=config, plugins=[ActingBackend(act)]) as other,
    ):
        handle = await owner.start("task", "p")
        await owner.store.flush()

        async def wait():
            told.append((await other.call("task", {"op": "wait", "id": handle.id})).details)

        for event in (asks, ends):
            with anyio.fail_after(30):
                async with anyio.create_task_group() as group:
                    group.start_soon(wait)
                    await anyio.wait_all_tasks_blocked()
                    event.set()
                for request in owner.requests():
                    await owner.answer(request.id, Approve())
                await owner.store.flush()
    assert [(one["wait_status"], one["items"][0]["status"]) for one in told] == [
        ("asked", "running"),
        ("completed", "succeeded"),
    ]


async def test_a_follow_up_whose_process_dies_is_told_as_taken_and_not_begun(tmp_path):
    told, sent = [], []
    with another_process(tmp_path) as (task_id, process):
        async with two(tmp_path) as (_, other):
            control = other.store.control
            keep, control.send = control.send, lambda one: (sent.append(one.id), keep(one))

            async def send():
                told.append(await other.handle(task_id).send("and?"))

            with anyio.fail_after(60):
                async with anyio.create_task_group() as group:
                    group.start_soon(send)
                    with following.Watch(control) as watch:
                        while not sent or control.state(sent[0]).status != "taken":
                            await watch.news(within_s=0.1)
                    process.kill()
    assert told[0].unwrap_err().message == (
        f"The process of task '{task_id}' has taken the follow-up, and has ended before it answered."
    )
    assert told[0].unwrap_err().advice == (
        "No run of its own has begun with it; look at the task before you send it again."
    )


async def test_a_handle_of_another_ohm_cancels_once(tmp_path):
    async with two(tmp_path, Step(gate=anyio.Event())) as (owner, other):
        handle = other.handle(await started(owner))
        assert await handle.cancel()
        assert not await handle.cancel()
        assert (await owner.handle(handle.id).wait()).err_value.code == ErrorCode.TASK_ABORTED
        assert other.store.control.left(handle.id) == ()


async def test_a_follow_up_to_a_task_that_settles_first_is_carried_out_by_whoever_sent_it(tmp_path):
    gate = anyio.Event()
    async with two(tmp_path, Step(gate=gate, text="one"), sendToFinished="resume") as (owner, other):
        task_id = await started(owner)
        gate.set()
        await owner.handle(task_id).wait()
        await owner.store.flush()
        assert (await other.handle(task_id).send("and?")).unwrap().output == "not asked"
        assert [run.prompt for run in owner.task(task_id).runs] == ["p"]


async def test_the_events_of_a_task_of_another_ohm_are_told_as_they_come_each_once(tmp_path):
    gate = anyio.Event()
    first, later = Step(events=(TextDelta(text="so "),), gate=gate, text="far"), Step(text="two")
    async with two(tmp_path, first, later) as (owner, other):
        task_id = await started(owner)
        told = []
        with anyio.fail_after(10):
            async for event in other.handle(task_id).events():
                told.append(event)
                if event == TextDelta(text="so "):
                    gate.set()
        assert isinstance(told[-1], TaskSettled)
        settled = owner.task(task_id)
        assert told == [each.event for each in await owner.store.history(settled)]
        assert "".join(each.text for each in told if isinstance(each, TextDelta)) == settled.text


async def test_the_events_of_a_task_whose_process_dies_end_with_what_became_of_it(tmp_path):
    with another_process(tmp_path) as (task_id, process):
        async with two(tmp_path) as (_, other):
            told = []
            with anyio.fail_after(10):
                async for event in other.handle(task_id).events():
                    told.append(event)
                    if event.kind == "tool_started":
                        process.kill()
    assert [each.kind for each in told[-4:]] == ["tool_started", "tool_ended", "run_ended", "task_settled"]
    assert told[-1].outcome.error.code == ErrorCode.REHYDRATED_INCOMPLETE


async def test_a_task_that_no_command_is_for_wakes_nobody_when_it_settles(monkeypatch):
    calls, loop = [], asyncio.get_running_loop()
    call_soon = loop.call_soon_threadsafe
    monkeypatch.setattr(loop, "call_soon_threadsafe", lambda *work: calls.append(work) or call_soon(*work))
    async with Ohm.open(env=HERMETIC, config={"subagentBackend": "none"}) as ohm:
        await ohm.run("finder", "p")
        calls.clear()
        assert (await ohm.run("finder", "p")).is_ok()
        assert calls == []
