"""Starting tasks: one, many, in order, side by side."""

import anyio
import pytest

from ohm_subagents import Err, ErrorCode, Ohm, Ok
from ohm_subagents.contract import OhmError, TextDelta, ToolStarted
from ohm_subagents.testing import HERMETIC, EventLog, ScriptedBackend, Step, quick_ohm

pytestmark = pytest.mark.anyio


def batch(count, **extra):
    tasks = [{"subagent_type": "finder", "description": f"d{n}", "prompt": f"p{n}"} for n in range(count)]
    return {"op": "start", "tasks": tasks, **extra}


async def test_one_task_gives_its_answer():
    async with quick_ohm("the answer") as ohm:
        match await ohm.run("finder", "Where is it?"):
            case Ok(envelope):
                assert (envelope.status, envelope.output, envelope.task_id) == ("succeeded", "the answer", "task_1")
            case Err(error):
                pytest.fail(str(error))


async def test_the_backend_gets_the_prompt_untouched_and_who_it_is():
    backend = ScriptedBackend("ok")
    async with quick_ohm(backend=backend, cwd="proj") as ohm:
        await ohm.run("finder", "  Where is it?\n", description="scan")

    (request,) = backend.calls
    assert (request.prompt, request.description, str(request.cwd)) == ("  Where is it?\n", "scan", "proj")
    assert request.tools == ("read", "grep", "find", "ls", "code_search")
    assert request.instructions.startswith("You are Finder, a subagent")
    assert request.history == ()


async def test_items_of_a_batch_come_back_in_input_order_with_refused_ones_in_place():
    async with quick_ohm(backend=ScriptedBackend("a", "c")) as ohm:
        payload = batch(3, parallel=True)
        payload["tasks"][1]["subagent_type"] = "nobody"
        result = await ohm.call("task", payload)

    items = result.details["items"]
    assert [(item["id"], item["found"]) for item in items] == [
        ("task_1", True),
        ("task_batch_2", False),
        ("task_2", True),
    ]
    assert [item.get("output") for item in items] == ["a", None, "c"]
    assert [result.details[key] for key in ("total_count", "accepted_count", "rejected_count", "batch_status")] == [
        3,
        2,
        1,
        "partial",
    ]
    assert result.details["summary"] == "Completed batch tasks: 2/2 succeeded (1 rejected)"


async def peak_of(payload, config=None):
    """Return how many runs of a batch were in the backend at once, when all of them wait for a gate."""
    gate, running, peaks = anyio.Event(), [0], [0]

    class Counting(ScriptedBackend):
        async def run(self, request, sink):
            running[0] += 1
            peaks[0] = max(peaks[0], running[0])
            try:
                return await super().run(request, sink)
            finally:
                running[0] -= 1

    backend = Counting(*[Step(text="x", gate=gate) for _ in payload["tasks"]])
    async with quick_ohm(backend=backend, config=config) as ohm, anyio.create_task_group() as group:
        group.start_soon(ohm.call, "task", payload)
        await anyio.wait_all_tasks_blocked()
        gate.set()
    return peaks[0]


async def test_a_batch_runs_one_after_another_unless_it_is_parallel():
    assert await peak_of(batch(5)) == 1


async def test_a_parallel_batch_runs_three_at_once_by_default():
    assert await peak_of(batch(5, parallel=True)) == 3


async def test_the_concurrency_of_a_batch_is_configured():
    assert await peak_of(batch(5, parallel=True), {"subagents": {"taskMaxConcurrency": 2}}) == 2


async def test_a_ceiling_holds_over_all_calls():
    assert await peak_of(batch(5, parallel=True), {"subagents": {"maxRunning": 1}}) == 1


async def test_a_crashing_backend_fails_its_own_task_and_keeps_its_siblings():
    steps = [Step(text="a"), Step(crash=RuntimeError("kaboom")), Step(text="c")]
    async with quick_ohm(*steps) as ohm:
        result = await ohm.call("task", batch(3))

    statuses = [item["status"] for item in result.details["items"]]
    assert statuses == ["succeeded", "failed", "succeeded"]
    failed = result.details["items"][1]
    assert failed["error_code"] == "task_backend_execution_failed"
    assert failed["error_message"] == "Task task_2 backend failed: RuntimeError: kaboom"


async def test_a_backend_that_breaks_the_result_law_fails_its_task_with_a_sentence():
    class Lawless(ScriptedBackend):
        async def run(self, request, sink):
            await anyio.lowlevel.checkpoint()
            return "just text"

    async with quick_ohm(backend=Lawless()) as ohm:
        result = await ohm.run("finder", "x")

    assert result.err_value.message == "Task task_1 backend failed: it returned str, not a Result of a RunOutput"


async def test_a_failure_keeps_the_partial_text_the_calls_and_the_task_id():
    step = Step(
        events=(TextDelta(text="So far: "), ToolStarted(call_id="1", tool="read", args="a.py"), TextDelta(text="x")),
        error=OhmError(code=ErrorCode.PROVIDER_UNAVAILABLE, message="The provider is down."),
    )
    async with quick_ohm(step) as ohm:
        error = (await ohm.run("finder", "x")).err_value
        envelope = ohm.envelope(error.task_id)

    assert (error.code, error.task_id) == (ErrorCode.PROVIDER_UNAVAILABLE, "task_1")
    assert envelope.assistant_text == "So far: \n\nx"
    assert envelope.tool_rows == ["○ read a.py"]
    assert (envelope.status, envelope.output_available, envelope.session_id) == ("failed", False, "session_1")


async def test_a_backend_that_saw_an_abort_gives_a_cancelled_task():
    step = Step(error=OhmError(code=ErrorCode.TASK_ABORTED, message="Aborted before execution."))
    async with quick_ohm(step) as ohm:
        envelope = (await ohm.call("task", batch(1))).details["items"][0]

    assert envelope["status"] == "cancelled"
    assert "error_code" not in envelope


async def test_a_repeated_id_is_refused_and_the_first_task_stays():
    backend = ScriptedBackend("a")
    async with Ohm.open(
        env=HERMETIC, config={"subagentBackend": "scripted"}, plugins=[backend], new_task_id=lambda: "dup"
    ) as ohm:
        first = await ohm.run("finder", "one")
        second = await ohm.run("finder", "two")
        batch_of_two = await ohm.call("task", batch(2))

    assert batch_of_two.details["rejected_count"] == 2
    assert first.ok_value.task_id == "dup"
    assert (second.err_value.code, second.err_value.message) == (
        ErrorCode.DUPLICATE_TASK_ID,
        "Task id 'dup' already exists",
    )


async def test_events_reach_observers_in_order_with_the_state_after_each():
    log = EventLog()
    async with quick_ohm(Step(events=(TextDelta(text="hi"),), text="hi")) as ohm:
        await ohm.run("finder", "x", observer=log)

    assert log.kinds() == ["task_queued", "run_started", "text_delta", "run_ended", "task_settled"]
    assert [task.status for task, _ in log.entries] == ["queued", "running", "running", "running", "succeeded"]


async def test_an_observer_that_raises_is_muted_and_the_others_go_on():
    class Broken:
        seen = 0

        def notify(self, task, event):
            self.seen += 1
            raise ValueError("no")

    broken, log = Broken(), EventLog()

    class Plugin:
        from ohm_subagents.plugin import hookimpl

        @hookimpl
        def ohm_observers(self):
            return [broken, log]

    async with quick_ohm("ok", plugins=[Plugin()]) as ohm:
        assert isinstance(await ohm.run("finder", "x"), Ok)

    assert broken.seen == 1
    assert log.kinds()[-1] == "task_settled"
