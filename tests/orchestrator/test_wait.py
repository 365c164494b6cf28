"""Waiting: told what really ended it, and woken only when there is something to hear (task-v1, Q37, Q53)."""

import anyio
import pytest
import trio

from ohm_subagents.contract import AnswerAwaited, AnswerGiven, Approve, Request
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


async def test_a_wait_goes_on_for_a_task_that_begins_while_it_waits():
    """Its id was unknown when the wait began; that it runs by the end is no timeout."""
    first, second = anyio.Event(), anyio.Event()
    results = []
    async with quick_ohm(Step(text="a", gate=first), Step(text="b", gate=second)) as ohm:
        await ohm.start("finder", "p")

        async def wait():
            results.append(await waited(ohm, {"op": "wait", "ids": ["task_1", "task_2"]}))

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            await ohm.start("finder", "q")
            first.set()
            await anyio.wait_all_tasks_blocked()
            assert results == []
            second.set()

    assert fields(results[0])[:3] == ("completed", True, False)
    assert [item["status"] for item in results[0]["items"]] == ["succeeded", "succeeded"]


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


ANY = {"op": "wait", "ids": ["task_1", "task_2"], "mode": "any"}


async def test_a_wait_for_any_ends_with_the_first_that_settles_and_the_rest_go_on():
    first, second = anyio.Event(), anyio.Event()
    results = []
    async with quick_ohm(Step(text="a", gate=first), Step(text="b", gate=second), config=ASYNC) as ohm:
        for _ in range(2):
            await ohm.start("finder", "p")

        async def wait():
            results.append(await waited(ohm, ANY))

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            assert results == []
            second.set()
        results.append(await waited(ohm, ANY))
        results.append(await waited(ohm, {"op": "wait", "ids": ["task_1"], "mode": "any", "timeout_ms": 1}))
        first.set()
        results.append(await waited(ohm, ANY | {"mode": "all"}))
    assert [(each["wait_status"], each["done"]) for each in results] == [
        ("completed", False),
        ("completed", False),
        ("timeout", False),
        ("completed", True),
    ]
    assert [item["status"] for item in results[0]["items"]] == ["running", "succeeded"]


async def test_a_wait_for_any_of_ids_that_are_unknown_ends_at_once():
    async with quick_ohm(Step(text="a", gate=anyio.Event()), config=ASYNC) as ohm:
        await ohm.start("finder", "p")
        await anyio.wait_all_tasks_blocked()
        details = await waited(ohm, {"op": "wait", "ids": ["task_1", "task_9"], "mode": "any"})
        assert (details["wait_status"], details["done"]) == ("completed", False)
        await ohm.call("task", {"op": "cancel", "id": "task_1"})


async def test_a_mode_that_is_none_is_refused_in_one_sentence():
    async with quick_ohm() as ohm:
        details = await waited(ohm, WAIT | {"mode": "some"})
    assert details["error_message"].endswith("""'mode' is "some"; allowed: all or any.""")


async def test_only_a_model_that_may_start_in_the_background_reads_of_the_mode():
    async with quick_ohm(config=ASYNC) as ohm, quick_ohm() as other:
        assert "mode" in ohm.tools["task"].input_schema["properties"]
        assert "mode" not in other.tools["task"].input_schema["properties"]


async def test_a_wait_of_a_model_ends_when_a_task_asks_and_a_wait_of_a_program_goes_on():
    results, gate = [], anyio.Event()
    async with quick_ohm(Step(text="a", gate=gate), config=ASYNC) as ohm:
        handle = await ohm.start("finder", "p")
        await anyio.wait_all_tasks_blocked()
        record = ohm._engine._running.get(handle.id).record

        async def wait():
            results.append(await waited(ohm, WAIT))

        async def wait_as_program():
            results.append((await handle.wait()).ok_value)

        async with anyio.create_task_group() as group:
            group.start_soon(wait_as_program)
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            record.add(AnswerAwaited(request=REQUEST))
            await anyio.wait_all_tasks_blocked()
            assert [each["wait_status"] for each in results] == ["asked"]
            results.append(await waited(ohm, WAIT))
            record.add(AnswerGiven(request_id=REQUEST.id, answer=Approve(), by="program"))
            gate.set()
    assert fields(results[0]) == ("asked", False, False, "running", None, "wait for 1 task(s) (asked)")
    assert results[1]["wait_status"] == "asked"
    assert results[2].output == "a"


REQUEST = Request(
    id="req_1", task_id="task_1", session_id="session_1", path=("task_1",), profile="finder", tool="bash", asked_ms=1
)
