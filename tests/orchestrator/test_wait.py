"""Waiting: told what really ended it, and woken only when there is something to hear (task-v1, Q37, Q53)."""

import anyio
import pytest
import trio

from ohm_subagents.testing import Step, quick_ohm

pytestmark = pytest.mark.anyio

ASYNC = {"subagents": {"asyncStart": "allow"}}
WAIT = {"op": "wait", "ids": ["task_1"]}


async def waited(ohm, payload, **extra):
    return (await ohm.call("task", payload, **extra)).details


def fields(details):
    names = ("wait_status", "done", "timed_out", "status", "error_code", "summary")
    return tuple(details.get(name) for name in names)


COMPLETED = ("completed", True, False, "succeeded", None, "wait for 1 task(s)")
TIMEOUT = ("timeout", False, True, "running", "task_wait_timeout", "wait for 1 task(s) (timeout)")
ABORTED = ("aborted", False, False, "running", "task_wait_aborted", "wait for 1 task(s) (aborted)")


async def test_an_aborted_wait_is_no_timeout():
    gate, abort = anyio.Event(), anyio.Event()
    results = []
    async with quick_ohm(Step(text="a", gate=gate)) as ohm:
        await ohm.start("finder", "p")
        await anyio.wait_all_tasks_blocked()

        async def wait():
            results.append(await waited(ohm, WAIT, abort=abort))

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            abort.set()
        results.append(await waited(ohm, WAIT, abort=abort))
        gate.set()
        results.append(await waited(ohm, WAIT))

    assert [fields(details) for details in results] == [ABORTED, ABORTED, COMPLETED]
    assert "aborted" in results[0]["error_message"]


class TestInVirtualTime:
    @pytest.fixture
    def anyio_backend(self, virtual_time):
        return virtual_time

    @pytest.mark.parametrize("milliseconds", [1, 60, 3_600_000])
    async def test_a_timeout_comes_when_it_was_asked_for(self, milliseconds):
        gate = anyio.Event()
        async with quick_ohm(Step(text="a", gate=gate), config={"backendTimeoutMs": 2**40}) as ohm:
            await ohm.start("finder", "p")
            began = anyio.current_time()
            details = await waited(ohm, WAIT | {"timeout_ms": milliseconds})
            elapsed = anyio.current_time() - began
            gate.set()
            await waited(ohm, WAIT)

        assert fields(details) == TIMEOUT
        assert elapsed == pytest.approx(milliseconds / 1000, abs=1e-9)

    async def test_completion_beats_a_timeout_and_a_timeout_beats_an_abort(self):
        async with quick_ohm(Step(text="a", delay_s=5), Step(text="b", delay_s=50)) as ohm:
            await ohm.start("finder", "p")
            assert fields(await waited(ohm, WAIT | {"timeout_ms": 5001})) == COMPLETED
            assert fields(await waited(ohm, WAIT | {"timeout_ms": 1})) == COMPLETED
            await ohm.start("finder", "p")
            await anyio.wait_all_tasks_blocked()
            late = anyio.Event()
            async with anyio.create_task_group() as group:
                group.start_soon(set_after, 3, late)
                over = await waited(ohm, {"op": "wait", "ids": ["task_2"], "timeout_ms": 1000}, abort=late)
            assert fields(over) == TIMEOUT
            for abort_s, told in ((1, TIMEOUT), (0.5, ABORTED)):
                at_once = anyio.Event()
                async with anyio.create_task_group() as group:
                    group.start_soon(set_after, abort_s, at_once)
                    over = await waited(ohm, {"op": "wait", "ids": ["task_2"], "timeout_ms": 1000}, abort=at_once)
                assert fields(over) == told
            assert fields(await waited(ohm, {"op": "wait", "ids": ["task_1"]}, abort=late)) == COMPLETED
            assert fields(await waited(ohm, {"op": "wait", "ids": ["task_2"]}, abort=late)) == ABORTED
            await waited(ohm, {"op": "wait", "ids": ["task_2"]})

    async def test_a_wait_is_woken_by_what_it_waits_for_and_by_nothing_else(self):
        """Half an hour passes, and then a thousand tasks end: the waiter takes one step a task at most."""
        count, gate = 1000, anyio.Event()
        config = ASYNC | {"backendTimeoutMs": 2**40, "taskMaxEntries": 2 * count}
        config["subagents"] = ASYNC["subagents"] | {"taskMaxConcurrency": count}
        tasks = [{"subagent_type": "finder", "description": "d", "prompt": "p"}] * count
        steps, results = Steps(), []
        async with quick_ohm(*[Step(text="x", gate=gate)] * count, config=config) as ohm:
            await ohm.call("task", {"op": "start", "tasks": tasks, "parallel": True, "async": True})
            await anyio.wait_all_tasks_blocked()
            ids = [f"task_{n}" for n in range(1, count + 1)]

            async def wait():
                steps.task = trio.lowlevel.current_task()
                results.append(await waited(ohm, {"op": "wait", "ids": ids}))

            trio.lowlevel.add_instrument(steps)
            async with anyio.create_task_group() as group:
                group.start_soon(wait)
                await anyio.wait_all_tasks_blocked()
                at_rest = steps.taken
                await anyio.sleep(1800)
                assert steps.taken == at_rest
                gate.set()
            trio.lowlevel.remove_instrument(steps)

        assert results[0]["done"]
        assert {item["status"] for item in results[0]["items"]} == {"succeeded"}
        assert steps.taken - at_rest <= count


class Steps(trio.abc.Instrument):
    """Counts how often one task is scheduled."""

    def __init__(self):
        self.task = None
        self.taken = 0

    def before_task_step(self, task):
        self.taken += task is self.task


async def set_after(seconds, event):
    await anyio.sleep(seconds)
    event.set()


async def test_unknown_tasks_are_nothing_to_wait_for():
    async with quick_ohm("a") as ohm:
        await ohm.run("finder", "p")
        details = await waited(ohm, {"op": "wait", "ids": ["task_1", "task_9"]})

    assert fields(details)[:4] == ("completed", True, False, "failed")
    assert [item["found"] for item in details["items"]] == [True, False]


async def test_waiting_never_cancels_anything():
    gate = anyio.Event()
    async with quick_ohm(Step(text="a", gate=gate)) as ohm:
        handle = await ohm.start("finder", "p")
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(ohm.call, "task", WAIT)
                await anyio.wait_all_tasks_blocked()
                scope.cancel()
        gate.set()
        assert (await handle.wait()).ok_value.output == "a"
