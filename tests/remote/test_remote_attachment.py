"""Runs at a runner outlive the `Ohm` that began them: the next one goes on with each, and hears everything once."""

from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest
from acting import ActingBackend
from loops import one_loop
from remote_backends import HASTY

from ohm_subagents import Budget, Ohm
from ohm_subagents.contract import DiagnosticRaised, RunEnded, RunStarted, TaskQueued, TaskSettled, TextDelta
from ohm_subagents.contract.wire import Hello, load_as
from ohm_subagents.plugin import Err, Options, RequestNeed, Usage, UsageAdded, call_child_tool, hookimpl
from ohm_subagents.remote import LoopbackTransport, open_remote, open_runner, remote_capabilities
from ohm_subagents.testing import EventLog, KeptFeed, Scenarios, ScriptedBackend, ShakyTransport, Step
from ohm_subagents.testing.scenarios import note_tool, request_for
from ohm_subagents.testing.trial import Recorder

pytestmark = [pytest.mark.anyio, one_loop]


class AtRunner:
    """A plugin with a backend in front of a runner that is there already."""

    def __init__(self, runner, spec, seed):
        self.runner, self.spec, self.seed = runner, spec, seed

    @hookimpl
    def ohm_backends(self):
        @asynccontextmanager
        async def opened(_options):
            wire = ShakyTransport(LoopbackTransport(self.runner), seed=self.seed)
            async with open_remote(wire, patience=HASTY) as backend:
                yield backend

        return [replace(self.spec, open=opened, capabilities=remote_capabilities(self.spec.capabilities))]


@asynccontextmanager
async def place_of(act, directory):
    """A function that opens an `Ohm` on one runner, with tasks that are kept in a directory."""
    (spec,) = ActingBackend(act).ohm_backends()

    def opened(*more, seed=1, **subagents):
        config = {"subagentBackend": "acting", "subagents": {"store": "sqlite", "onClose": "detach", **subagents}}
        env = {"PI_CONFIG_DIR": str(directory), "HOME": str(directory), "OHM_SUBAGENTS_LOAD_PLUGINS": "none"}
        return Ohm.open(cwd=directory, env=env, config=config, plugins=[AtRunner(runner, spec, seed), *more])

    async with open_runner(spec, Options()) as runner:
        yield opened, runner


def says(text):
    return lambda _task, event: isinstance(event, TextDelta) and text in event.text


async def kinds_of(ohm, task_id):
    return [type(one.event) for one in await ohm.store.history(ohm.task(task_id))]


@pytest.mark.parametrize("seed", range(3))
async def test_the_next_ohm_goes_on_with_a_run_and_records_each_event_once(tmp_path, seed):
    goes_on = anyio.Event()

    async def act(_request, sink):
        for number in range(10):
            sink.emit(TextDelta(text=f"{number} "))
        await goes_on.wait()
        for number in range(10, 20):
            sink.emit(TextDelta(text=f"{number} "))
            await anyio.lowlevel.checkpoint()
        return "counted"

    log = EventLog()
    async with place_of(act, tmp_path) as (opened, runner):
        async with opened(log, seed=seed) as ohm:
            handle = await ohm.start("finder", "count")
            await log.until(says("9 "))
        goes_on.set()
        async with opened(seed=seed + 10) as ohm:
            envelope = (await ohm.handle(handle.id).wait()).unwrap()
            kinds = await kinds_of(ohm, handle.id)
            text = ohm.task(handle.id).text
        assert envelope.output == "counted"
        assert text == "".join(f"{number} " for number in range(20))
        assert (kinds.count(RunStarted), kinds.count(TaskSettled), kinds.count(DiagnosticRaised)) == (1, 1, 0)
        assert load_as(Hello, await runner.hello()).kept in {0, 1}


async def test_a_run_that_has_said_nothing_is_taken_up_where_it_goes_on(tmp_path):
    begun, has_begun, goes_on = [], anyio.Event(), anyio.Event()

    async def act(request, _sink):
        begun.append(request.task_id)
        has_begun.set()
        await goes_on.wait()
        return "done"

    async with place_of(act, tmp_path) as (opened, _):
        async with opened() as ohm:
            handle = await ohm.start("finder", "say")
            await has_begun.wait()
        async with opened() as ohm:
            goes_on.set()
            assert (await ohm.handle(handle.id).wait()).unwrap().output == "done"
    assert begun == [handle.id]


async def test_a_run_that_says_nothing_is_recorded_with_the_events_that_it_has_in_process(tmp_path):
    async def act(_request, _sink):
        return "done"

    async with place_of(act, tmp_path) as (opened, _), opened() as ohm:
        handle = await ohm.start("finder", "say")
        await handle.wait()
        assert await kinds_of(ohm, handle.id) == [TaskQueued, RunStarted, RunEnded, TaskSettled]


async def test_a_budget_still_holds_for_a_run_that_is_taken_up(tmp_path):
    granted = []
    goes_on = anyio.Event()

    async def act(request, sink):
        while True:
            async with request.gate.request(RequestNeed(provider="acme")) as grant:
                if isinstance(grant, Err):
                    return grant
                granted.append(True)
                if len(granted) == 2:
                    sink.emit(TextDelta(text="second"))
                    await goes_on.wait()
                sink.emit(UsageAdded(usage=Usage(requests=1)))

    log = EventLog()
    async with place_of(act, tmp_path) as (opened, _):
        async with opened(log, budget={"requests": 3}) as ohm:
            handle = await ohm.start("finder", "ask")
            await log.until(says("second"))
        goes_on.set()
        async with opened(budget={"requests": 3}) as ohm:
            error = (await ohm.handle(handle.id).wait()).unwrap_err()
            assert ohm.task(handle.id).activity.usage.requests == 3
    assert (error.code, len(granted)) == ("task_budget_exceeded", 3)


@pytest.mark.parametrize("is_recorded", [True, False])
async def test_a_tool_call_that_was_under_way_is_not_made_again(tmp_path, is_recorded):
    calls, began, scope = [], anyio.Event(), anyio.CancelScope()

    async def execute(call):
        calls.append(call.arguments)
        began.set()
        await anyio.sleep_forever()

    async def act(request, sink):
        (one,) = request.child_tools
        return (await call_child_tool(one, {"text": "x"}, call_id="1", sink=sink)).text

    async def begin(request):
        async with open_remote(LoopbackTransport(runner), patience=HASTY) as backend:
            with scope:
                await backend.run(request, Recorder())

    (spec,) = ActingBackend(act).ohm_backends()
    plain, feed = request_for("note", Scenarios(cwd=tmp_path)), KeptFeed()
    note = replace(note_tool([]), execute=execute)
    request = replace(plain, spec=replace(plain.spec, child_tools=(note,)), feed=feed)
    async with open_runner(spec, Options()) as runner, anyio.create_task_group() as group:
        group.start_soon(begin, request)
        await began.wait()
        scope.cancel()
        feed.position *= is_recorded
        async with open_remote(LoopbackTransport(runner), patience=HASTY) as backend:
            result = await backend.attach(request, Recorder())
    assert calls == [{"text": "x"}]
    assert result.unwrap().text == "The call was interrupted: it may have been made, and was not made again."


async def test_a_run_that_the_runner_does_not_have_any_more_is_lost(tmp_path):
    async def act(_request, sink):
        sink.emit(TextDelta(text="half"))
        await anyio.sleep_forever()

    log = EventLog()
    async with place_of(act, tmp_path) as (opened, _), opened(log) as ohm:
        handle = await ohm.start("finder", "p")
        await log.until(says("half"))
    async with place_of(act, tmp_path) as (opened, _), opened() as ohm:
        error = (await ohm.handle(handle.id).wait()).unwrap_err()
        assert ohm.task(handle.id).text == "half"
    assert error.code == "runner_lost"
    assert "It does not know the run any more." in error.message


async def test_what_is_reported_of_a_run_after_it_was_left_is_there_for_the_next_one(tmp_path):
    goes_on = anyio.Event()

    async def act(_request, sink):
        sink.emit(TextDelta(text="before "))
        await goes_on.wait()
        sink.emit(TextDelta(text="meanwhile "))
        return "done"

    (spec,) = ActingBackend(act).ohm_backends()
    feed, heard = KeptFeed(), Recorder()
    request = replace(request_for("p", Scenarios(cwd=tmp_path)), feed=feed)

    async def begin(backend):
        with scope:
            await backend.run(request, heard)

    scope = anyio.CancelScope()
    async with open_runner(spec, Options()) as runner:
        transport = CountingPolls(runner)
        async with open_remote(transport, patience=HASTY) as backend, anyio.create_task_group() as group:
            group.start_soon(begin, backend)
            while not heard.events:
                await anyio.lowlevel.checkpoint()
            scope.cancel()
            goes_on.set()  # the poll that is under way brings it to a link whose run has gone
            await transport.polled(after=transport.count)
        async with open_remote(LoopbackTransport(runner), patience=HASTY) as backend:
            result = await backend.attach(request, heard)
    assert result.unwrap().text == "done"
    assert "".join(one.text for one in heard.events if isinstance(one, TextDelta)) == "before meanwhile "


class CountingPolls(LoopbackTransport):
    """Tells when polls were answered."""

    def __init__(self, runner):
        super().__init__(runner)
        self.count = 0
        self._answered = anyio.Event()

    async def feed(self, frame):
        answer = await super().feed(frame)
        self.count += 1
        self._answered.set()
        self._answered = anyio.Event()
        return answer

    async def polled(self, *, after):
        """Wait for an answer after so many, and let the link do what it does then."""
        while self.count <= after:
            await self._answered.wait()
        for _ in range(20):
            await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("outlives", [True, False])
async def test_tasks_that_shared_a_budget_share_it_after_they_are_taken_up(tmp_path, outlives):
    granted, goes_on, are_over = [], anyio.Event(), anyio.Event()

    async def act(request, sink):
        while True:
            async with request.gate.request(RequestNeed(provider="acme")) as grant:
                if isinstance(grant, Err):
                    return grant
                granted.append(request.task_id)
                sink.emit(UsageAdded(usage=Usage(requests=1)))
                sink.emit(TextDelta(text="asked "))
            await (are_over if request.depth == 1 else goes_on).wait()  # the outer one ends last, as it ends the others

    log, backend = EventLog(), "acting" if outlives else "scripted"
    async with place_of(act, tmp_path) as (opened, _):
        async with opened(log, ScriptedBackend(Step(gate=anyio.Event())), budget={"depth": 2}) as ohm:
            outer = await ohm.start("finder", "Ask.", budget=Budget(requests=10), backend=backend)
            inner = [await ohm.start("finder", "Ask.", parent=outer.id) for _ in range(3)]
            for handle in [outer, *inner] if outlives else inner:
                await log.until(lambda task, event, this=handle.id: task.id == this and isinstance(event, TextDelta))
        goes_on.set()
        async with opened(budget={"depth": 2}) as ohm:
            for handle in inner:
                assert (await ohm.handle(handle.id).wait()).is_err()
            are_over.set()
            assert (await ohm.handle(outer.id).wait()).is_err()
            tree = ohm.task(outer.id).activity.tree_usage
    assert len(granted) <= 10
    assert tree.requests == len(granted) or not outlives


async def test_a_budget_is_kept_however_many_programs_have_the_run_in_turn_and_nothing_is_spent_between_them(tmp_path):
    granted, pace = [], anyio.Semaphore(0)

    async def act(request, sink):
        while True:
            async with request.gate.request(RequestNeed(provider="acme")) as grant:
                if isinstance(grant, Err):
                    return grant
                granted.append(True)
                sink.emit(UsageAdded(usage=Usage(requests=1)))
                sink.emit(TextDelta(text=f"<{len(granted)}>"))
            await pace.acquire()

    log, task_id = EventLog(), None
    async with place_of(act, tmp_path) as (opened, _):
        for spent in range(1, 8):
            async with opened(log) as ohm:
                if task_id is None:
                    task_id = (await ohm.start("finder", "Ask.", budget=Budget(requests=7))).id
                await log.until(says(f"<{spent}>"))
            pace.release()
            await anyio.wait_all_tasks_blocked()
            assert len(granted) == spent
        async with opened() as ohm:
            error = (await ohm.handle(task_id).wait()).unwrap_err()
            assert ohm.task(task_id).activity.usage.requests == 7
    assert (error.code, len(granted)) == ("task_budget_exceeded", 7)


async def test_tasks_of_one_start_share_what_is_left_of_its_budget_after_they_are_taken_up(tmp_path):
    granted, goes_on = [], anyio.Event()

    async def act(request, sink):
        while True:
            async with request.gate.request(RequestNeed(provider="acme")) as grant:
                if isinstance(grant, Err):
                    return grant
                granted.append(request.task_id)
                sink.emit(UsageAdded(usage=Usage(requests=1)))
                sink.emit(TextDelta(text="asked "))
                if request.prompt == "Ask once.":
                    return "asked"
            await goes_on.wait()

    log, shared = EventLog(), {"requests": 10}
    prompts = ["Ask once.", "Ask.", "Ask.", "Ask."]
    batch = {"op": "start", "parallel": True, "async": True}
    batch["tasks"] = [{"subagent_type": "finder", "description": "d", "prompt": prompt} for prompt in prompts]
    async with place_of(act, tmp_path) as (opened, _):
        async with opened(log, budget=shared, asyncStart="allow", taskMaxConcurrency=4) as ohm:
            await ohm.call("task", batch)
            ids = [task.id for task in ohm.store.tasks()]
            for one in ids:
                await log.until(lambda task, event, this=one: task.id == this and isinstance(event, TextDelta))
            await ohm.handle(ids[0]).wait()
        goes_on.set()
        async with opened(budget={"requests": 1000}) as ohm:  # what they were started with holds
            for one in ids[1:]:
                assert (await ohm.handle(one).wait()).unwrap_err().code == "task_budget_exceeded"
            used = sum(ohm.task(one).activity.usage.requests for one in ids)
    assert (len(ids), len(granted), used) == (4, 10, 10)


@pytest.mark.parametrize("prompts", [("Ask once.", "Ask twice."), ("Ask twice.", "Ask once.")])
async def test_no_request_is_granted_to_others_before_a_run_has_told_of_the_one_it_was_granted(tmp_path, prompts):
    granted, goes_on = [], anyio.Event()

    async def act(request, sink):
        for number in range(9):
            async with request.gate.request(RequestNeed(provider="acme")) as grant:
                if isinstance(grant, Err):
                    return grant
                granted.append(request.prompt)
                if request.prompt == "Ask twice." and number == 1:
                    sink.emit(TextDelta(text="holds "))
                    await goes_on.wait()
                sink.emit(UsageAdded(usage=Usage(requests=1)))
            if request.prompt == "Ask once.":
                sink.emit(TextDelta(text="holds "))
                await goes_on.wait()
        return "done"

    log, batch = EventLog(), {"op": "start", "parallel": True, "async": True}
    batch["tasks"] = [{"subagent_type": "finder", "description": "d", "prompt": one} for one in prompts]
    async with place_of(act, tmp_path) as (opened, _):
        async with opened(log, budget={"requests": 3}, asyncStart="allow") as ohm:
            await ohm.call("task", batch)
            ids = [task.id for task in ohm.store.tasks()]
            for one in ids:
                await log.until(lambda task, event, this=one: task.id == this and isinstance(event, TextDelta))
        goes_on.set()
        async with opened() as ohm:
            codes = {(await ohm.handle(one).wait()).unwrap_err().code for one in ids}
            used = sum(ohm.task(one).activity.usage.requests for one in ids)
    assert (codes, sorted(granted), used) == ({"task_budget_exceeded"}, ["Ask once.", "Ask twice.", "Ask twice."], 3)


async def test_a_run_that_is_lost_before_it_was_heard_counts_the_request_that_it_may_have_had(tmp_path):
    async def act(request, sink):
        async with request.gate.request(RequestNeed(provider="acme")):
            sink.emit(TextDelta(text="asked "))
            await anyio.sleep_forever()

    log = EventLog()
    async with place_of(act, tmp_path) as (opened, _), opened(log, budget={"requests": 3}) as ohm:
        handle = await ohm.start("finder", "p")
        await log.until(says("asked "))
    async with place_of(act, tmp_path) as (opened, _), opened(budget={"requests": 3}) as ohm:
        assert (await ohm.handle(handle.id).wait()).unwrap_err().code == "runner_lost"
        assert ohm.task(handle.id).activity.usage.requests == 1
