"""Timeouts and cancellation: at once on the record, and nothing left behind."""

import anyio
import pytest

from ohm_subagents import ErrorCode, Limits, Ohm
from ohm_subagents.contract import TextDelta, ToolStarted
from ohm_subagents.plugin import BackendSpec, Ok, Options, RunOutput, hookimpl
from ohm_subagents.testing import HERMETIC, EventLog, ScriptedBackend, Step, quick_ohm

pytestmark = pytest.mark.anyio


CALL = ToolStarted(call_id="1", tool="read", args="a.py")


def forever(*events):
    return Step(events=(*events, TextDelta(text="so far")), gate=anyio.Event())


class TestInVirtualTime:
    @pytest.fixture
    def anyio_backend(self, virtual_time):
        return virtual_time

    async def test_a_run_that_takes_too_long_fails_with_the_limit_and_keeps_its_text(self):
        async with quick_ohm(forever()) as ohm:
            started = anyio.current_time()
            error = (await ohm.run("finder", "x", limits=Limits(soft_ms=200_000, idle_ms=300_000))).err_value
            elapsed = anyio.current_time() - started
            envelope = ohm.envelope(error.task_id)

        assert elapsed == 200
        assert error.code == ErrorCode.BACKEND_TIMEOUT
        assert error.message == "Task task_1 timed out while waiting for subagent backend response"
        assert "200000 ms" in error.advice
        assert envelope.assistant_text == "so far"
        assert (envelope.stopped_by, envelope.last_progress_at_epoch_ms) == ("soft", 0)

    async def test_the_default_limit_is_three_minutes_and_comes_from_the_environment(self):
        backend = ScriptedBackend(default=Step(gate=anyio.Event()))
        open_ohm = {"config": {"subagentBackend": "scripted"}, "plugins": [backend], "clock": lambda: 0}
        for env, seconds in (({}, 180), ({"OHM_SUBAGENTS_BACKEND_TIMEOUT_MS": "5000"}, 5)):
            async with Ohm.open(env=HERMETIC | env, **open_ohm) as ohm:
                started = anyio.current_time()
                assert (await ohm.run("finder", "x")).err_value.code == ErrorCode.BACKEND_TIMEOUT
                assert anyio.current_time() - started == seconds

    async def test_time_in_the_queue_does_not_count(self):
        steps = [Step(text="slow", delay_s=100), Step(text="slow", delay_s=100)]
        config = {"subagents": {"maxRunning": 1}}
        async with quick_ohm(*steps, config=config) as ohm, anyio.create_task_group() as group:
            results = []

            async def one():
                results.append(await ohm.run("finder", "x", limits=Limits(soft_ms=150_000)))

            group.start_soon(one)
            group.start_soon(one)

        assert [result.ok_value.output for result in results] == ["slow", "slow"]


async def test_cancelling_the_caller_cancels_the_task_and_the_record_says_so():
    log = EventLog()
    async with quick_ohm(forever(CALL)) as ohm:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: ohm.run("finder", "x", observer=log))
            await log.until(lambda _task, event: event.kind == "text_delta")
            group.cancel_scope.cancel()
        task = ohm.task("task_1")

    assert (task.status, task.text) == ("cancelled", "so far")
    assert log.kinds()[-3:] == ["tool_ended", "run_ended", "task_settled"]


async def test_a_queued_task_that_is_cancelled_never_reaches_its_backend():
    backend, log = ScriptedBackend(forever()), EventLog()
    payload = {"op": "start", "tasks": [{"subagent_type": "finder", "description": "d", "prompt": "p"}] * 2}
    async with quick_ohm(backend=backend, plugins=[log]) as ohm:
        async with anyio.create_task_group() as group:
            group.start_soon(ohm.call, "task", payload)
            await log.until(lambda _task, event: event.kind == "text_delta")
            group.cancel_scope.cancel()
        statuses = [ohm.task(task_id).status for task_id in ("task_1", "task_2")]

    assert statuses == ["cancelled", "cancelled"]
    assert [request.task_id for request in backend.calls] == ["task_1"]


async def test_closing_the_ohm_settles_every_task_and_closes_every_backend():
    closed, log = [], EventLog()

    class Recording(ScriptedBackend):
        def _open(self, options):
            return _recorded(super()._open(options), closed)

    async with anyio.create_task_group() as group:
        async with Ohm.open(
            env=HERMETIC, config={"subagentBackend": "scripted"}, plugins=[Recording(forever()), log]
        ) as ohm:
            group.start_soon(ohm.run, "finder", "x")
            await log.until(lambda _task, event: event.kind == "text_delta")
        (task,) = {task.id: task for task, _ in log.entries}.values()

    assert task.status == "cancelled"
    assert closed == ["closed"]


class _recorded:  # noqa: N801  reads as the function that it is used as
    def __init__(self, opened, closed):
        self._opened, self._closed = opened, closed

    async def __aenter__(self):
        return await self._opened.__aenter__()

    async def __aexit__(self, *exc):
        await anyio.lowlevel.checkpoint()  # an asynchronous clean-up gets its time even when the owner is cancelled
        self._closed.append("closed")
        return await self._opened.__aexit__(*exc)


async def test_a_cancelled_owner_still_closes_its_backends():
    closed = []

    class Recording(ScriptedBackend):
        def _open(self, options):
            return _recorded(super()._open(options), closed)

    with anyio.CancelScope() as scope:
        async with Ohm.open(env=HERMETIC, config={"subagentBackend": "scripted"}, plugins=[Recording("x")]) as ohm:
            await ohm.run("finder", "x")
            scope.cancel()
            await anyio.sleep_forever()

    assert closed == ["closed"]


async def test_an_exception_of_the_program_leaves_the_ohm_as_it_is():
    with pytest.raises(ZeroDivisionError):
        async with quick_ohm():
            raise ZeroDivisionError


async def test_a_backend_that_fails_to_open_fails_its_tasks_and_is_tried_again():
    attempts = []

    class Flaky:
        @hookimpl
        def ohm_backends(self):
            return [BackendSpec(id="flaky", summary="", options=Options, open=self.open)]

        def open(self, options):
            attempts.append(options)
            return _raising() if len(attempts) == 1 else _recorded(ScriptedBackend("up")._open(options), [])

    async with Ohm.open(env=HERMETIC, config={"subagentBackend": "flaky"}, plugins=[Flaky()]) as ohm:
        first = await ohm.run("finder", "x")
        second = await ohm.run("finder", "x")

    assert first.err_value.message == "Backend 'flaky' failed to open: OSError: no socket."
    assert second.ok_value.output == "up"


class _raising:  # noqa: N801  as above
    async def __aenter__(self):
        await anyio.lowlevel.checkpoint()
        raise OSError("no socket")

    async def __aexit__(self, *exc):
        pass


async def test_what_a_run_says_after_it_returned_is_not_heard():
    class Talkative(ScriptedBackend):
        async def run(self, request, sink):
            await anyio.lowlevel.checkpoint()
            self.sink = sink
            return Ok(RunOutput(text="done"))

    backend = Talkative()
    async with quick_ohm(backend=backend) as ohm:
        await ohm.run("finder", "x")
        before = ohm.task("task_1")
        backend.sink.emit(TextDelta(text="one more thing"))
        after = ohm.task("task_1")

    assert after is before
