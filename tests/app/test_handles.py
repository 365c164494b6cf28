"""Background tasks held by a program: the same ids, the same engine."""

import anyio
import pytest

from ohm_subagents import Err, ErrorCode, Ok
from ohm_subagents.contract import OhmError, TextDelta
from ohm_subagents.testing import EventLog, ScriptedBackend, Step, quick_ohm

pytestmark = pytest.mark.anyio


async def test_a_started_task_is_seen_by_the_tools_and_answers_its_handle():
    gate = anyio.Event()
    async with quick_ohm(Step(text="done", gate=gate)) as ohm:
        handle = await ohm.start("finder", "look")
        status = await ohm.call("task", {"op": "status", "id": handle.id})
        gate.set()
        answer = await handle.wait()

    assert status.details["items"][0]["id"] == handle.id == "task_1"
    assert status.details["status"] in {"queued", "running"}
    assert answer.ok_value.output == "done"


async def test_a_refused_start_answers_its_handle_with_the_refusal():
    async with quick_ohm() as ohm:
        handle = await ohm.start("nobody", "look")

        assert handle.id is None
        assert (await handle.wait()).err_value.code == ErrorCode.UNKNOWN_SUBAGENT_TYPE
        assert (await handle.send("more")).err_value.code == ErrorCode.UNKNOWN_SUBAGENT_TYPE
        assert await handle.cancel() is False
        assert [event async for event in handle.events()] == []


async def test_a_follow_up_is_the_next_run_and_sees_the_first():
    gate = anyio.Event()
    backend = ScriptedBackend(Step(text="one", gate=gate), "two")
    async with quick_ohm(backend=backend) as ohm, anyio.create_task_group() as group:
        handle = await ohm.start("finder", "first")
        answers = []

        async def follow_up():
            answers.append(await handle.send("second"))

        group.start_soon(follow_up)
        await anyio.wait_all_tasks_blocked()
        gate.set()
        final = await handle.wait()

    assert answers[0].ok_value.output == "two"
    assert final.ok_value.output == "one"
    assert [(exchange.prompt, exchange.output) for exchange in backend.calls[1].history] == [("first", "one")]


async def test_a_handle_cancels_its_task_once():
    async with quick_ohm(Step(gate=anyio.Event())) as ohm:
        handle = await ohm.start("finder", "Where is login?")
        await anyio.wait_all_tasks_blocked()

        assert await handle.cancel() is True
        assert await handle.cancel() is False
        error = (await handle.wait()).err_value
        assert (error.code, error.message) == (ErrorCode.TASK_ABORTED, "Cancelled Finder: Where is login?")


async def test_the_events_of_a_task_are_the_past_then_the_present_and_end_with_it():
    gate, log = anyio.Event(), EventLog()
    step = Step(events=(TextDelta(text="a"),), gate=gate, text="done")
    async with quick_ohm(step, plugins=[log]) as ohm, anyio.create_task_group() as group:
        handle = await ohm.start("finder", "look")
        await log.until(lambda _task, event: event.kind == "text_delta")
        kinds = []

        async def listen():
            async for event in handle.events():
                kinds.append(event.kind)  # noqa: PERF401  a comprehension would hide what came before a failure

        group.start_soon(listen)
        await anyio.wait_all_tasks_blocked()
        gate.set()

    assert kinds == ["text_delta", "run_ended", "task_settled"]


class TestInVirtualTime:
    @pytest.fixture
    def anyio_backend(self, virtual_time):
        return virtual_time

    async def test_a_wait_that_ends_too_early_leaves_the_task_alone(self):
        async with quick_ohm(Step(text="done", delay_s=10)) as ohm:
            handle = await ohm.start("finder", "look")
            early = await handle.wait(timeout_ms=5000)
            late = await handle.wait()

        assert (early.err_value.code, early.err_value.task_id) == (ErrorCode.WAIT_TIMEOUT, "task_1")
        assert early.err_value.retryable
        assert late.ok_value.output == "done"


async def test_leaving_the_ohm_cancels_what_is_in_the_background():
    log = EventLog()
    async with quick_ohm(Step(gate=anyio.Event()), plugins=[log]) as ohm:
        await ohm.start("finder", "look")
        await anyio.wait_all_tasks_blocked()

    assert log.entries[-1][0].status == "cancelled"


RESUME = {"subagents": {"sendToFinished": "resume"}}


async def test_a_send_to_a_settled_task_starts_a_new_one_in_its_session_when_configured():
    backend = ScriptedBackend("one", "two")
    async with quick_ohm(backend=backend, config=RESUME) as ohm:
        first = (await ohm.run("finder", "first")).ok_value
        sent = (await ohm.call("task", {"op": "send", "id": "task_1", "prompt": "second"})).details
        again = ohm.envelope("task_1")

    assert (sent["task_id"], sent["resumed_from"], sent["session_id"]) == ("task_2", "task_1", first.session_id)
    assert (sent["status"], sent["output"]) == ("succeeded", "two")
    assert [(exchange.prompt, exchange.output) for exchange in backend.calls[1].history] == [("first", "one")]
    assert again == first


async def test_a_handle_goes_on_with_the_task_that_its_last_send_has_started():
    backend = ScriptedBackend("one", "two", "three")
    async with quick_ohm(backend=backend, config=RESUME) as ohm:
        handle = await ohm.start("finder", "first")
        await handle.wait()
        answers = [(await handle.send(prompt)).ok_value.output for prompt in ("second", "third")]
        final = (await handle.wait()).ok_value

    assert answers == ["two", "three"]
    assert [exchange.prompt for exchange in backend.calls[2].history] == ["first", "second"]
    assert (final.task_id, final.resumed_from, final.output) == (handle.id, "task_2", "three")


async def test_a_handle_goes_on_with_a_task_that_failed_but_not_with_one_that_was_refused():
    failing = Step(error=OhmError(code=ErrorCode.PROVIDER_TIMEOUT, message="Too slow."))
    async with quick_ohm("one", failing, config=RESUME) as ohm:
        handle = await ohm.start("finder", "first")
        await handle.wait()
        assert (await handle.send("second")).err_value.task_id == handle.id == "task_2"
        await ohm.reconfigure(config={})
        assert (await handle.send("third")).err_value.code == ErrorCode.NOT_RESUMABLE
        assert handle.id == "task_2"


async def test_a_resumed_task_that_fails_says_so_and_keeps_the_former_one():
    failing = Step(error=OhmError(code=ErrorCode.PROVIDER_TIMEOUT, message="Too slow."))
    async with quick_ohm("one", failing, config=RESUME) as ohm:
        await ohm.run("finder", "first")
        sent = await ohm.call("task", {"op": "send", "id": "task_1", "prompt": "second"})

        assert (sent.details["status"], sent.details["error_code"]) == ("failed", "provider_timeout")
        assert ohm.envelope("task_1").output == "one"


async def test_a_follow_up_whose_task_is_cancelled_meanwhile_is_a_cancellation():
    gate, answers = anyio.Event(), []
    async with quick_ohm("one", Step(gate=gate), config=RESUME) as ohm:
        handle = await ohm.start("finder", "first")
        await handle.wait()

        async def send():
            answers.append(await handle.send("second"))

        async with anyio.create_task_group() as group:
            group.start_soon(send)
            await anyio.wait_all_tasks_blocked()
            await ohm.call("task", {"op": "cancel", "id": "task_2"})

    error = answers[0].err_value
    assert (error.code, error.task_id) == (ErrorCode.TASK_ABORTED, "task_2")


async def test_a_program_gets_the_whole_answer_of_a_follow_up_too():
    long = "x" * 100_000
    async with quick_ohm("one", long, config=RESUME) as ohm:
        handle = await ohm.start("finder", "first")
        await handle.wait()
        envelope = (await handle.send("second")).ok_value
    assert (envelope.output, envelope.output_truncated) == (long, False)


async def test_a_task_without_a_description_is_called_by_the_beginning_of_its_prompt():
    async with quick_ohm() as ohm:
        handle = await ohm.start("finder", f"\n {'x' * 72}y\nThe rest.")
        assert ohm.task(handle.id).assignment.description == "x" * 72


async def test_a_background_start_by_a_tool_needs_permission():
    payload = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p", "async": True}
    async with quick_ohm("done", config={"subagents": {"asyncStart": "allow"}}) as ohm:
        started = await ohm.call("task", payload)
        waited = await ohm.call("task", {"op": "wait", "id": "task_1"})

    assert started.details["status"] in {"queued", "running"}
    assert (waited.details["wait_status"], waited.details["items"][0]["output"]) == ("completed", "done")


async def test_a_background_start_shows_no_frame_once_its_call_is_over():
    gate, frames = anyio.Event(), []
    payload = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p", "async": True}
    async with quick_ohm(Step(text="done", gate=gate), config={"subagents": {"asyncStart": "allow"}}) as ohm:
        await ohm.call("task", payload, on_update=frames.append)
        shown = len(frames)
        gate.set()
        await ohm.call("task", {"op": "wait", "id": "task_1"})

    assert len(frames) == shown


async def test_a_new_configuration_is_seen_by_everything_that_starts_after_it():
    async with quick_ohm("a") as ohm:
        assert isinstance(await ohm.run("finder", "x"), Ok)
        await ohm.reconfigure(
            config={"subagentBackend": "scripted", "subagents": {"permissions": {"subagents": {"finder": "deny"}}}}
        )
        denied = await ohm.run("finder", "x")

    assert isinstance(denied, Err)
    assert denied.err_value.code == ErrorCode.PERMISSION_DENIED


async def test_a_follow_up_goes_to_the_backend_that_is_configured_then():
    gate = anyio.Event()
    async with quick_ohm(Step(text="a", gate=gate)) as ohm, anyio.create_task_group() as group:
        handle = await ohm.start("finder", "x")
        await anyio.wait_all_tasks_blocked()
        await ohm.reconfigure(config={"subagentBackend": "none"})

        async def ask():
            envelope = (await handle.send("and?")).ok_value
            assert "follow_up_prompt: and?" in envelope.output
            assert envelope.backend == "scripted"
            assert (envelope.runtime, envelope.route) == ("scaffold", "scaffold")

        group.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        gate.set()


async def test_new_limits_hold_at_once():
    async with quick_ohm() as ohm:
        for _ in range(3):
            await ohm.run("finder", "x")
        config = {"subagentBackend": "scripted", "taskMaxEntries": 1, "subagents": {"maxRunning": 1}}
        await ohm.reconfigure(config=config)

        assert [ohm.task(f"task_{number}") is None for number in (1, 2, 3)] == [True, True, False]


async def test_a_program_can_stop_its_task_whatever_the_configuration_says_by_now():
    async with quick_ohm(Step(gate=anyio.Event())) as ohm:
        handle = await ohm.start("finder", "x")
        await anyio.wait_all_tasks_blocked()
        await ohm.reconfigure(config={"subagentBackend": "scripted", "features": {"subagents": False}})

        assert await handle.cancel() is True
        assert ohm.task(handle.id).status == "cancelled"


async def test_a_follow_up_that_was_withdrawn_says_so():
    abort, answers = anyio.Event(), []
    async with quick_ohm(Step(gate=anyio.Event())) as ohm:
        handle = await ohm.start("finder", "x")
        async with anyio.create_task_group() as group:

            async def send():
                answers.append(await ohm.call("task", {"op": "send", "id": handle.id, "prompt": "y"}, abort=abort))

            group.start_soon(send)
            await anyio.wait_all_tasks_blocked()
            abort.set()

    assert (answers[0].details["status"], answers[0].is_error) == ("cancelled", True)
    assert answers[0].details["summary"] == "The caller stopped waiting before the follow-up was taken."


async def test_a_new_catalogue_replaces_the_roster_and_the_direct_tools():
    async with quick_ohm() as ohm:
        assert "librarian" in ohm.tools
        await ohm.reconfigure(profiles=[])

        assert list(ohm.tools) == ["task"]
        assert ohm.profiles == ()


async def test_an_abort_ends_a_start_with_a_cancelled_result():
    abort = anyio.Event()
    payload = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"}
    async with quick_ohm(Step(gate=anyio.Event())) as ohm, anyio.create_task_group() as group:
        results = []

        async def call():
            results.append(await ohm.call("task", payload, abort=abort))

        group.start_soon(call)
        await anyio.wait_all_tasks_blocked()
        abort.set()

    assert (results[0].details["status"], "error_code" in results[0].details) == ("cancelled", False)
