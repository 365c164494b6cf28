"""Runs behind a transport are runs like any other: what an `Ohm` does with them, and what a lost runner costs."""

import json
from contextlib import asynccontextmanager
from decimal import Decimal
from functools import partial

import anyio
import pytest
from acting import ActingBackend
from remote_backends import Mortal, Remotely, Restarting, behind

from ohm_subagents import Approve, Deny, ErrorCode, Ohm, tool
from ohm_subagents.contract import Checkpointed, FollowUpTaken, TextDelta, ToolEnded, ToolStarted, Usage, UsageAdded
from ohm_subagents.contract.wire import VERSIONS, Hello, dump
from ohm_subagents.plugin import Err, Options, RequestNeed, call_child_tool
from ohm_subagents.remote import (
    LoopbackTransport,
    Patience,
    RunnerUnusableError,
    UndeliveredError,
    open_remote,
    open_runner,
)
from ohm_subagents.remote.link import Link
from ohm_subagents.testing import HERMETIC, EventLog, Scenarios, ShakyTransport
from ohm_subagents.testing.scenarios import request_for
from ohm_subagents.testing.trial import Recorder

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def remote(act, *more, wrap=lambda transport: transport, approvals=None, **config):
    """An `Ohm` whose backend runs at a runner, where each run is `act`."""
    plugins = [Remotely(ActingBackend(act), wrap), *more]
    config = {"subagentBackend": "acting", **config}
    async with Ohm.open(env=HERMETIC, config=config, plugins=plugins, approvals=approvals) as ohm:
        yield ohm


async def test_a_remote_run_streams_and_answers():
    async def act(request, sink):
        for piece in ("So ", "it ", "is."):
            sink.emit(TextDelta(text=piece))
            await anyio.lowlevel.checkpoint()
        return f"So it is. ({request.prompt}, {request.cwd.name or '/'})"

    async with remote(act) as ohm:
        envelope = (await ohm.run("finder", "Is it?", cwd="/")).ok_value
    assert envelope.output == "So it is. (Is it?, /)"
    assert envelope.status == "succeeded"


async def test_programs_that_keep_their_tasks_in_memory_may_share_a_runner_and_have_the_same_ids():
    begun, all_begun, transports = [], anyio.Event(), []

    async def act(request, _sink):
        begun.append(request.task_id)
        if len(begun) == 2:
            all_begun.set()
        await all_begun.wait()
        return request.prompt

    def shared(transport):
        transports.append(transport)
        return transports[0]

    def program():
        plugins = [Remotely(ActingBackend(act), shared)]
        return Ohm.open(
            env=HERMETIC, config={"subagentBackend": "acting"}, plugins=plugins, new_task_id=lambda: "task_1"
        )

    answers = []
    async with program() as one, program() as other, anyio.create_task_group() as group:

        async def ask(ohm, prompt):
            answers.append((await ohm.run("finder", prompt)).unwrap().output)

        group.start_soon(ask, one, "One.")
        group.start_soon(ask, other, "Other.")
    assert begun == ["task_1", "task_1"]
    assert sorted(answers) == ["One.", "Other."]


async def test_runs_that_wait_for_the_same_answer_of_a_runner_go_on_together(tmp_path):
    calls, scenarios = [], Scenarios(cwd=tmp_path)

    class Counted(LoopbackTransport):
        async def hello(self):
            calls.append("hello")
            return await super().hello()

        async def post(self, frame):
            calls.append("post")
            return await super().post(frame)

    async def act(_request, _sink):
        return "Yes."

    (spec,) = ActingBackend(act).ohm_backends()
    async with behind(spec, Counted).open(Options()) as backend, anyio.create_task_group() as group:
        for _ in range(30):
            group.start_soon(backend.run, request_for("Is it?", scenarios), Recorder())
    assert calls == ["hello", "post"]


async def test_posts_are_small_enough_to_travel_within_a_call_of_ray_unless_one_message_is_larger(tmp_path):
    sizes, scenarios = [], Scenarios(cwd=tmp_path)

    class Measured(LoopbackTransport):
        async def post(self, frame):
            sizes.append((len(frame["messages"]), len(json.dumps(frame))))
            return await super().post(frame)

    async def act(_request, _sink):
        return "Yes."

    (spec,) = ActingBackend(act).ohm_backends()
    async with behind(spec, Measured).open(Options()) as backend, anyio.create_task_group() as group:
        for prompt in (*["x" * 10_000] * 30, "x" * 500_000):
            group.start_soon(backend.run, request_for(prompt, scenarios), Recorder())
    large = [count for count, size in sizes if size > 100 * 1024]
    assert sum(count for count, _ in sizes) == 31
    assert large == [1]


async def test_a_lost_runner_is_one_error_and_the_text_so_far_is_kept():
    wires = []

    async def act(_request, sink):
        sink.emit(TextDelta(text="half of it"))
        await anyio.sleep_forever()

    log = EventLog()
    async with remote(act, log, wrap=lambda wire: wires.append(Mortal(wire)) or wires[0]) as ohm:
        handle = await ohm.start("finder", "Is it?")
        await log.until(lambda _task, event: isinstance(event, TextDelta))
        wires[0].killed.set()
        error = (await handle.wait()).err_value
        assert ohm.task(error.task_id).text == "half of it"
    assert (error.code, error.retryable) == (ErrorCode.RUNNER_LOST, True)
    assert str(error) == (
        "The runner is lost, and the run with it. It was killed. What it had reported is kept. Start the task again."
    )
    assert log.kinds().count("task_settled") == 1


async def test_a_cancelled_run_is_stopped_at_the_runner():
    log, stopped = EventLog(), anyio.Event()

    async def act(_request, sink):
        sink.emit(TextDelta(text="on"))
        try:
            await anyio.sleep_forever()
        finally:
            stopped.set()
            sink.emit(TextDelta(text=" and off"))

    async with remote(act, log) as ohm:
        handle = await ohm.start("finder", "Go on")
        await log.until(lambda _task, event: isinstance(event, TextDelta))
        await handle.cancel()
        await stopped.wait()
        assert ohm.task(handle.id).status == "cancelled"


async def test_a_run_that_asks_for_the_first_time_while_it_is_stopped_gets_its_answer():
    log, noted, ended = EventLog(), [], anyio.Event()

    async def note(text: str) -> str:
        """Note a text."""
        await anyio.lowlevel.checkpoint()
        noted.append(text)
        return "noted"

    async def act(request, sink):
        (one,) = request.child_tools
        sink.emit(TextDelta(text="on"))
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                noted.append((await call_child_tool(one, {"text": "off"}, call_id="1", sink=sink)).text)
            ended.set()

    async with remote(act, log) as ohm:
        handle = await ohm.start("finder", "Go on", tools=[tool(note)])
        await log.until(lambda _task, event: isinstance(event, TextDelta))
        await handle.cancel()
        with anyio.fail_after(60):
            await ended.wait()
    assert noted == ["off", "noted"]


async def test_a_runner_may_forget_what_is_stored_of_a_long_run_that_asks_nothing():
    stored = anyio.Event()

    class Read(LoopbackTransport):
        async def feed(self, frame):
            if max(frame["acks"].values(), default=0) >= 1000:
                stored.set()
            return await super().feed(frame)

    async def act(_request, sink):
        for number in range(2500):
            sink.emit(TextDelta(text=f"{number} "))
        await stored.wait()
        return "done"

    async with remote(act, wrap=Read) as ohm:
        with anyio.fail_after(60):
            envelope = (await ohm.run("finder", "Go on")).unwrap()
    assert envelope.output == "done"


async def test_a_budget_is_kept_at_the_runner():
    granted = []

    async def act(request, sink):
        while True:
            async with request.gate.request(RequestNeed(provider="acme")) as grant:
                if isinstance(grant, Err):
                    return grant
                granted.append(grant.ok_value.is_last)

    async with remote(act, subagents={"budget": {"requests": 2}}) as ohm:
        error = (await ohm.run("finder", "Is it?")).err_value
    assert error.code == ErrorCode.BUDGET_EXCEEDED
    assert granted == [False, True]


async def test_a_follow_up_goes_into_the_open_run_at_the_runner():
    log, said = EventLog(), []
    seen = anyio.Event()

    async def act(request, sink):
        def steer(text):
            said.append(text)
            seen.set()
            return True

        with request.inbox.steered_by(steer):
            sink.emit(TextDelta(text="on"))
            await seen.wait()
        return "answer to both"

    async with remote(act, log) as ohm:
        handle = await ohm.start("finder", "Go on")
        await log.until(lambda _task, event: isinstance(event, TextDelta))
        envelope = (await handle.send("And?")).ok_value
    assert said == ["And?"]
    assert envelope.output == "answer to both"
    assert log.kinds().count("follow_up_taken") == 1


@pytest.mark.parametrize("seed", range(3))
async def test_a_follow_up_is_taken_once_whatever_the_transport_does(seed):
    log, said = EventLog(), []
    all_said = anyio.Event()

    async def act(request, sink):
        def steer(text):
            said.append(text)
            if len(said) == 6:
                all_said.set()
            return True

        with request.inbox.steered_by(steer):
            sink.emit(TextDelta(text="on"))
            await all_said.wait()
        return "answer to all"

    texts = [f"number {number}" for number in range(6)]
    async with remote(act, log, wrap=lambda wire: ShakyTransport(wire, seed=seed)) as ohm:
        handle = await ohm.start("finder", "Go on")
        await log.until(lambda _task, event: isinstance(event, TextDelta))
        async with anyio.create_task_group() as group:
            for text in texts:
                group.start_soon(handle.send, text)
        await handle.wait()
    assert sorted(said) == texts
    assert [event.prompt for _, event in log.entries if isinstance(event, FollowUpTaken)] == said


async def test_a_tool_of_the_call_is_carried_out_by_the_submitter():
    async def add(a: int, b: int) -> int:
        """Add."""
        await anyio.lowlevel.checkpoint()
        return a + b

    async def act(request, sink):
        (one,) = request.child_tools
        sink.emit(ToolStarted(call_id="1", tool=one.name))
        right = await call_child_tool(one, {"a": 2, "b": 3}, call_id="1", sink=sink)
        sink.emit(ToolEnded(call_id="1", tool=one.name, status="success", text=right.text))
        wrong = await call_child_tool(one, {"a": "two"}, call_id="2", sink=sink)
        return f"{right.text}, {wrong.is_error}"

    async with remote(act) as ohm:
        envelope = (await ohm.run("finder", "Add", tools=[tool(add)])).unwrap()
    assert envelope.output == "5, True"


async def test_a_call_that_a_rule_asks_about_waits_for_an_answer_at_the_submitter():
    asked = []

    async def approve(request):
        asked.append(request.arguments)
        return Deny("Not today.")

    async def act(request, _sink):
        return await request.gate.tool("bash", {"command": "git push"}, call_id="1") or "made"

    plugins = [Remotely(ActingBackend(act))]
    config = {"subagentBackend": "acting", "subagents": {"finder": {"tools": {"allow": ["bash"], "ask": ["bash"]}}}}
    async with Ohm.open(env=HERMETIC, config=config, plugins=plugins, approvals=approve) as ohm:
        envelope = (await ohm.run("finder", "Push")).ok_value
    assert asked == ['{"command":"git push"}']
    assert envelope.output.startswith("The call of 'bash' was not made, because it was denied: Not today.")


async def test_where_a_run_stands_as_it_begins_to_wait_for_an_answer_is_kept_by_the_submitter():
    log = EventLog()

    async def approve(request):
        await log.until(lambda task, event: isinstance(event, Checkpointed))
        return Approve("task")

    async def act(request, sink):
        for number in (1, 2):
            keep = partial(sink.emit, Checkpointed(state=f"before {number}"))
            await request.gate.tool("bash", {"command": "git push"}, on_wait=keep)
        return "pushed"

    config = {"subagents": {"finder": {"tools": {"allow": ["bash"], "ask": ["bash"]}}}}
    async with remote(act, log, approvals=approve, **config) as ohm:
        (await ohm.run("finder", "Push")).unwrap()
    assert [event.state for _, event in log.entries if isinstance(event, Checkpointed)] == ["before 1"]


async def test_the_submitter_decides_if_a_provider_is_asked_again():
    attempts = []

    async def act(request, _sink):
        for attempt in range(1, 9):
            async with request.gate.request(RequestNeed(provider="acme")):
                attempts.append(attempt)
            if not await request.gate.throttled("acme", attempt=attempt, retry_after_s=0):
                break
        return "given up"

    async with remote(act, subagents={"requestRetries": 2}) as ohm:
        assert (await ohm.run("finder", "Ask")).ok_value.output == "given up"
    assert attempts == [1, 2, 3]


async def test_a_cost_budget_is_kept_by_the_prices_of_the_runner():
    grants = []

    async def act(request, sink):
        unknown = RequestNeed(provider="acme", model="m2")
        grants.append(request.gate.unpriced(unknown).message)
        need = RequestNeed(provider="acme", input_tokens=100, price=lambda i, o: Decimal(i + 10 * o) / 1000)
        async with request.gate.request(need) as granted:
            grants.append(granted.ok_value.max_output_tokens)
            sink.emit(UsageAdded(usage=Usage(requests=1, cost_usd=Decimal("0.95"))))
        async with request.gate.request(need) as granted:
            return granted

    async with remote(act, subagents={"budget": {"costUsd": 1}}) as ohm:
        error = (await ohm.run("finder", "Ask")).err_value
    assert grants[0].endswith("cannot be kept: the price of 'acme/m2' is unknown.")
    assert grants[1] == 90
    assert error.code == ErrorCode.BUDGET_EXCEEDED


async def test_after_a_restart_of_the_runner_its_runs_are_lost_and_new_ones_go_to_the_new_one():
    log, wires = EventLog(), []

    async def act(request, sink):
        sink.emit(TextDelta(text="on"))
        if request.prompt == "hang":
            await anyio.sleep_forever()
        return "done"

    (spec,) = ActingBackend(act).ohm_backends()
    async with open_runner(spec, Options()) as second:

        def restarting(wire):
            wires.append(Restarting(wire))
            return wires[0]

        async with remote(act, log, wrap=restarting) as ohm:
            handle = await ohm.start("finder", "hang")
            await log.until(lambda _task, event: isinstance(event, TextDelta))
            wires[0].restart(second)
            error = (await handle.wait()).err_value
            assert (await ohm.run("finder", "go")).ok_value.output == "done"
    assert error.code == ErrorCode.RUNNER_LOST
    assert "It was started anew." in error.message


async def test_a_run_whose_reports_cannot_be_read_is_stopped_at_the_runner():
    class Garbling(LoopbackTransport):
        async def feed(self, frame):
            feed = await super().feed(frame)
            return feed | {"reports": [one | {"n": "first"} for one in feed["reports"]]}

    stopped = anyio.Event()

    async def act(_request, sink):
        sink.emit(TextDelta(text="half of it"))
        try:
            await anyio.sleep_forever()
        finally:
            stopped.set()

    async with remote(act, wrap=Garbling) as ohm:
        error = (await ohm.run("finder", "Is it?")).unwrap_err()
        assert (error.code, "cannot be read" in error.message) == (ErrorCode.RUNNER_LOST, True)
        await stopped.wait()


async def test_an_acknowledgement_that_a_transport_refuses_at_the_end_costs_nothing():
    refused = []

    class Faulty(LoopbackTransport):
        async def feed(self, frame):
            refused.append(frame["acks"])
            raise LookupError("no such host")

    link = Link(Faulty(None), Patience(), Hello(incarnation="one", versions=VERSIONS))
    link.acknowledge("k", 1)
    await link.leave()
    assert (refused, link.why_lost) == ([{"k": 1}], "")


async def test_a_runner_that_names_no_ended_runs_may_have_any_of_those_that_it_keeps(tmp_path):
    class Older(LoopbackTransport):
        async def hello(self):
            return dump(Hello(incarnation="one", versions=VERSIONS, kept=1))

    async with open_remote(Older(None)) as backend:
        assert await backend.has(request_for("Is it?", Scenarios(cwd=tmp_path)))


async def test_a_runner_that_speaks_no_version_of_ours_is_told_of_with_who_has_to_be_updated():
    async def act(_request, _sink):
        return "Yes."

    async with remote(act, wrap=lambda wire: ShakyTransport(wire, seed=1, faults=0, versions=(4,))) as ohm:
        error = (await ohm.run("finder", "Is it?")).err_value
    assert str(error) == (
        "This program and the runner do not understand each other. Of messages, the runner speaks version 4, this "
        "program versions 1, 2 and 3: update this program. Nothing was begun."
    )
    assert not error.retryable


async def test_events_of_a_newer_release_are_told_of_once():
    class Newer(LoopbackTransport):
        async def feed(self, frame):
            feed = await super().feed(frame)
            for report in feed["reports"]:
                if report["kind"] == "event_reported":
                    report["event"] = {"kind": "sang", "song": report["event"]["text"]}
            return feed

    async def act(_request, sink):
        sink.emit(TextDelta(text="la"))
        sink.emit(TextDelta(text="la"))
        return "done"

    async with remote(act, wrap=Newer) as ohm:
        envelope = (await ohm.run("finder", "Sing")).ok_value
    newer = "The runner reports events of a newer release, such as 'sang', which are not recorded."
    assert [one for one in envelope.diagnostics if "sang" in one] == [newer]


async def test_a_runner_that_never_answers_is_lost_after_a_while():
    class Deaf(LoopbackTransport):
        async def hello(self):
            raise UndeliveredError

    async def act(_request, _sink):
        return "done"

    plugin = Remotely(ActingBackend(act), Deaf, patience=Patience(retry_s=0, lost_s=0))
    async with Ohm.open(env=HERMETIC, config={"subagentBackend": "acting"}, plugins=[plugin]) as ohm:
        error = (await ohm.run("finder", "Hello?")).err_value
    assert str(error) == (
        "The runner cannot be reached. It has not answered for 0 s. Nothing was begun. See that it runs, and start the "
        "task again."
    )


async def test_a_runner_that_cannot_open_its_backend_is_not_said_to_be_out_of_reach():
    class Unusable(LoopbackTransport):
        async def hello(self):
            raise RunnerUnusableError("No plugin offers the backend 'ecko'. Did you mean 'echo'?")

    async def act(_request, _sink):
        return "done"

    async with remote(act, wrap=Unusable) as ohm:
        error = (await ohm.run("finder", "Hello?")).err_value
    assert (error.code, error.retryable) == (ErrorCode.BACKEND_OPTIONS_INVALID, False)
    assert str(error) == (
        "The runner cannot open its backend. No plugin offers the backend 'ecko'. Did you mean 'echo'? Nothing was "
        "begun. Install or set on its machine what it lacks, or correct what it is to run; then end the runner, and "
        "start the task again."
    )


async def test_a_sink_that_raises_costs_its_own_run_alone(tmp_path):
    class Raising(Recorder):
        def emit(self, event):
            raise LookupError("the disk is full")

    scenarios, results = Scenarios(cwd=tmp_path), []

    async def hang(backend):
        results.append(await backend.run(request_for("note", scenarios), Recorder()))

    goes_on = anyio.Event()

    async def act(request, sink):
        if request.prompt == "note":
            await goes_on.wait()
        sink.emit(TextDelta(text="on"))
        return "done"

    (spec,) = ActingBackend(act).ohm_backends()
    async with behind(spec).open(Options()) as backend, anyio.create_task_group() as group:
        group.start_soon(hang, backend)
        with pytest.raises(LookupError, match="the disk is full"):
            await backend.run(request_for("raise", scenarios), Raising())
        goes_on.set()
    assert results[0].unwrap().text == "done"
