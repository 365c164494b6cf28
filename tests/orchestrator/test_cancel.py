"""Cancelling: at once on the record, for whoever looks (task-v1, 22)."""

import anyio
import pytest

from ohm_subagents import ErrorCode
from ohm_subagents.contract import TextDelta
from ohm_subagents.testing import EventLog, ScriptedBackend, Step, quick_ohm

pytestmark = pytest.mark.anyio


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
