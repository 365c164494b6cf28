"""Cancelling: at once on the record, for whoever looks (task-v1, 22)."""

from contextlib import nullcontext

import anyio
import pytest
from acting import ActingBackend

from ohm_subagents import ErrorCode, Ohm
from ohm_subagents._store.memory import MemoryStore
from ohm_subagents.contract import TextDelta
from ohm_subagents.contract.commands import Cancel
from ohm_subagents.suite import asked_by
from ohm_subagents.testing import HERMETIC, EventLog, ScriptedBackend, Step, quick_ohm

pytestmark = pytest.mark.anyio


NESTED = {"subagentBackend": "acting", "subagents": {"budget": {"depth": 2}}}


def one(n):
    return {"subagent_type": "finder", "description": f"d{n}", "prompt": f"p{n}"}


async def test_a_queued_item_that_is_cancelled_is_cancelled_in_the_batch_too():
    gate, log, results = anyio.Event(), EventLog(), []
    backend = ScriptedBackend(Step(text="a", gate=gate), "c")
    async with quick_ohm(backend=backend, plugins=[log]) as ohm:

        async def start():
            results.append(await ohm.call("task", {"op": "start", "tasks": [one(1), one(2), one(3)]}))

        async with anyio.create_task_group() as group:
            group.start_soon(start)
            await log.until(lambda _task, event: event.kind == "run_started")
            cancelled = (await ohm.call("task", {"op": "cancel", "id": "task_2"})).details
            gate.set()
        registered = (await ohm.call("task", {"op": "status", "ids": ["task_1", "task_2", "task_3"]})).details

    applied = [cancelled[name] for name in ("cancel_applied", "prior_status", "status")]
    assert applied == [True, "queued", "cancelled"]
    statuses = ["succeeded", "cancelled", "succeeded"]
    assert [item["status"] for item in results[0].details["items"]] == statuses
    assert [item["status"] for item in registered["items"]] == statuses
    assert [request.prompt for request in backend.calls] == ["p1", "p3"]


async def test_a_cancelled_task_keeps_its_runs_on_the_record():
    gate, log = anyio.Event(), EventLog()
    backend = ScriptedBackend("first answer", Step(events=(TextDelta(text="so far"),), gate=gate))
    async with quick_ohm(backend=backend, plugins=[log]) as ohm:
        handle = await ohm.start("finder", "p")
        async with anyio.create_task_group() as group:
            group.start_soon(handle.send, "and?")
            await log.until(lambda _task, event: event.kind == "text_delta")
            assert await handle.cancel()
        task, envelope = ohm.task("task_1"), ohm.envelope("task_1")

    assert [run.outcome.kind for run in task.runs] == ["succeeded", "cancelled"]
    assert (task.status, task.output) == ("cancelled", "first answer")
    assert (envelope.status, envelope.output) == ("cancelled", "first answer")


async def test_a_settled_task_is_not_cancelled_again():
    async with quick_ohm("done") as ohm:
        await ohm.run("finder", "p")
        before = ohm.envelope("task_1")
        details = (await ohm.call("task", {"op": "cancel", "id": "task_1"})).details
        after = ohm.envelope("task_1")

    assert (details["cancel_applied"], details["prior_status"], details["status"]) == (False, "succeeded", "succeeded")
    assert details["summary"] == "Task 'task_1' is already terminal (succeeded); cancel not applied"
    assert after == before


async def test_a_late_event_does_not_change_a_settled_task():
    class Talkative(ScriptedBackend):
        async def run(self, request, sink):
            try:
                return await super().run(request, sink)
            finally:
                sink.emit(TextDelta(text="my last words"))

    log, step = EventLog(), Step(events=(TextDelta(text="so far"),), gate=anyio.Event())
    async with quick_ohm(backend=Talkative(step), plugins=[log]) as ohm:
        handle = await ohm.start("finder", "p")
        await log.until(lambda _task, event: event.kind == "text_delta")
        assert await handle.cancel()
        before = ohm.task("task_1")
        ended = await handle.wait()
        await anyio.wait_all_tasks_blocked()
        after = ohm.task("task_1")

    assert ended.err_value.code == ErrorCode.TASK_ABORTED
    assert after is before
    assert after.text == "so far"
    assert log.kinds()[-1] == "task_settled"


class SlowDisk(MemoryStore):
    """Is asked to write down a cancellation, and takes its time."""

    def __init__(self, writes):
        super().__init__(lambda: 0)
        self._writes = writes
        self._has_all = False

    async def flush(self):
        if not self._has_all and any(task.status == "cancelled" for task in self.tasks()):
            await self._writes()
            self._has_all = True


async def cancelled_on(writes, act, story):
    """The result of a `cancel` on such a disk, of a task whose backend does that."""
    config = {"subagentBackend": "acting", "subagents": {"asyncStart": "allow"}}
    backend, log = ActingBackend(act), EventLog()
    async with Ohm.open(env=HERMETIC, config=config, plugins=[backend, log], store=SlowDisk(writes)) as ohm:
        handle = await ohm.start("finder", "p")
        await log.until(lambda _task, event: event.kind == "text_delta")
        result = await ohm.call("task", {"op": "cancel", "id": handle.id})
        story.append("answered")
    return result


def works(story):
    async def act(request, sink):
        sink.emit(TextDelta(text="so far"))
        try:
            await anyio.sleep_forever()
        finally:
            story.append("unwound")

    return act


async def test_a_cancel_is_written_down_and_then_answered_before_the_run_is_unwound():
    story = []

    async def writes():
        for _ in range(9):
            await anyio.lowlevel.checkpoint()
        story.append("written")

    result = await cancelled_on(writes, works(story), story)
    assert result.details["status"] == "cancelled"
    assert story == ["written", "answered", "unwound"]


class TestInVirtualTime:
    @pytest.fixture
    def anyio_backend(self, virtual_time):
        return virtual_time

    async def test_a_disk_that_hangs_keeps_no_cancelled_run_alive(self):
        story, begun = [], anyio.current_time()

        async def writes():
            await anyio.sleep(60)

        async def act(request, sink):
            try:
                await works(story)(request, sink)
            finally:
                story.append(anyio.current_time() - begun)

        await cancelled_on(writes, act, story)
        assert story == ["unwound", pytest.approx(0.05), "answered"]


async def test_a_cancelled_task_starts_no_other():
    refused = []
    log = EventLog()

    async def act(request, sink):
        sink.emit(TextDelta(text="so far"))
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                late = await ohm.start("finder", "late")
                refused.append((await late.wait()).err_value)

    config = {"subagentBackend": "acting", "subagents": {"budget": {"depth": 2}}}
    async with Ohm.open(env=HERMETIC, config=config, plugins=[ActingBackend(act), log]) as ohm:
        handle = await ohm.start("finder", "p")
        await log.until(lambda _task, event: event.kind == "text_delta")
        await ohm.call("task", {"op": "cancel", "id": handle.id})
        with anyio.fail_after(5):
            while not refused:
                await anyio.lowlevel.checkpoint()
        assert len(tuple(ohm.store.tasks())) == 1
    assert refused[0].code == ErrorCode.TASK_ABORTED
    assert handle.id in refused[0].message


@pytest.mark.parametrize(
    ("who", "how", "said"),
    [
        (None, "handle", "It was cancelled by a program."),
        (None, "tool", "It was cancelled by its parent."),
        ("page", "tool", "It was cancelled on the page."),
        ("client", "handle", "It was cancelled by an MCP client."),
        ("terminal", "handle", "It was cancelled on a terminal."),
        ("terminal", "subagent", "It was cancelled by its parent."),
        (None, "a later release", "A caller asked for it."),
    ],
)
async def test_a_cancelled_task_says_who_has_cancelled_it(who, how, said):
    async def act(request, _sink):
        if request.prompt == "parent":
            child = await ohm.start("finder", "child")
            await anyio.wait_all_tasks_blocked()
            assert await child.cancel()
            tasks.append(child.id)
            return "done"
        return await anyio.sleep_forever()

    async with Ohm.open(env=HERMETIC, config=NESTED, plugins=[ActingBackend(act)]) as ohm:
        tasks = []
        with nullcontext() if who is None else asked_by(who):
            if how == "subagent":
                await ohm.run("finder", "parent")
            else:
                handle = await ohm.start("finder", "p")
                await anyio.wait_all_tasks_blocked()
                tasks.append(handle.id)
            if how == "handle":
                assert await handle.cancel()
            elif how == "tool":
                await ohm.call("task", {"op": "cancel", "id": handle.id})
            elif how == "a later release":
                await ohm._engine.orchestrator.execute(Cancel(id=handle.id, by="a person on the moon"))
        (task,) = map(ohm.task, tasks)
    assert (task.status, task.runs[-1].outcome.reason) == ("cancelled", said)
