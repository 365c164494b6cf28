"""A runner takes each message once, keeps what nobody has acknowledged, and goes on without its submitter."""

from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal

import anyio
import pytest
from acting import ActingBackend
from remote_backends import Remotely, behind
from wire_samples import RUN

from ohm_subagents import Ohm
from ohm_subagents.contract import TextDelta, Usage, UsageAdded
from ohm_subagents.contract.wire import (
    AttachRun,
    CallAsked,
    CallJudged,
    CancelRun,
    EventReported,
    Feed,
    Hello,
    Poll,
    Post,
    Receipt,
    ResultReported,
    RunUnknown,
    StartRun,
    Workspace,
    dump,
    load,
    load_as,
)
from ohm_subagents.plugin import Options, RequestNeed
from ohm_subagents.remote import open_runner
from ohm_subagents.testing import HERMETIC, EventLog, Scenarios
from ohm_subagents.testing.scenarios import request_for
from ohm_subagents.testing.trial import Recorder

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend(virtual_time):
    return virtual_time


class Submitter:
    """Talks to a runner as a link does, a call at a time."""

    def __init__(self, runner, name):
        self.runner, self.name = runner, name
        self.incarnation = runner.incarnation
        self.sent = self.since = 0

    async def post(self, *messages):
        frame = Post(
            owner=self.name,
            incarnation=self.incarnation,
            first=self.sent + 1,
            messages=tuple(dump(one) for one in messages),
        )
        self.sent += len(messages)
        return load_as(Receipt, await self.runner.post(dump(frame)))

    async def poll(self, acks=None, wait_s=0):
        frame = Poll(owner=self.name, since=self.since, acks=acks or {}, wait_s=wait_s)
        feed = load_as(Feed, await self.runner.feed(dump(frame)))
        self.since = max(self.since, feed.first + len(feed.reports) - 1)
        return [load(one) for one in feed.reports]

    async def hello(self):
        return load_as(Hello, await self.runner.hello())


@asynccontextmanager
async def runner_of(act, **options):
    (spec,) = ActingBackend(act).ohm_backends()
    async with open_runner(spec, Options(), **options) as runner:
        yield runner, Submitter(runner, "first")


START = StartRun(run_key="k", run=RUN)


def texts(reports):
    return [one.event.text for one in reports if isinstance(one, EventReported)]


def counting(goes_on):
    """A run that says `one`, and `two` once it may go on."""

    async def act(_request, sink):
        sink.emit(TextDelta(text="one"))
        await goes_on.wait()
        sink.emit(TextDelta(text="two"))
        return "done"

    return act


async def test_a_run_goes_on_without_its_submitter_and_another_one_gets_what_it_has_missed():
    goes_on = anyio.Event()
    async with runner_of(counting(goes_on)) as (runner, first):
        await first.post(START)
        assert texts(await first.poll(wait_s=1)) == ["one"]
        goes_on.set()
        await anyio.wait_all_tasks_blocked()
        second = Submitter(runner, "second")
        await second.post(AttachRun(run_key="k", since=1), AttachRun(run_key="other"))
        reports = await second.poll()
        assert texts(reports) == ["two"]
        assert [type(one) for one in reports] == [EventReported, ResultReported, RunUnknown]
        assert (await second.hello()).kept == 1
        await second.poll(acks={"k": 3})
        assert (await second.hello()).kept == 0


async def test_what_a_gone_submitter_was_asked_is_asked_again():
    async def act(request, _sink):
        refusal = await request.gate.tool("bash", {"command": "ls"}, call_id="c")
        return f"refusal: {refusal}"

    async with runner_of(act) as (runner, first):
        await first.post(START)
        (asked,) = await first.poll(wait_s=1)
        assert isinstance(asked, CallAsked)
        second = Submitter(runner, "second")
        await second.post(AttachRun(run_key="k", since=asked.n))
        (again,) = await second.poll()
        assert again == replace(asked, n=asked.n + 1, is_again=True)
        await second.post(CallJudged(run_key="k", ask=asked.ask, refusal="No."))
        await anyio.wait_all_tasks_blocked()
        assert (await second.poll())[-1].text == "refusal: No."


async def test_a_run_that_has_ended_is_kept_for_an_hour():
    async def act(_request, _sink):
        return "done"

    async with runner_of(act) as (_, first):
        await first.post(START)
        await anyio.sleep(3599)
        assert (await first.hello()).kept == 1
        await anyio.sleep(2)
        assert (await first.hello()).kept == 0


async def test_a_run_that_nobody_acknowledged_is_forgotten_in_time_though_nobody_asks():
    async def act(_request, _sink):
        return "done"

    async with runner_of(act, kept_s=60) as (runner, first):
        await first.post(START)
        began = anyio.current_time()
        await runner.unused(1)
    assert anyio.current_time() - began == pytest.approx(60)


async def test_a_submitter_that_was_silent_for_over_an_hour_is_known_again(tmp_path):
    async def act(_request, _sink):
        return "Yes."

    (spec,) = ActingBackend(act).ohm_backends()
    async with behind(spec).open(Options()) as backend:
        for _ in range(3):
            answer = await backend.run(request_for("Is it?", Scenarios(cwd=tmp_path)), Recorder())
            assert answer.unwrap().text == "Yes."
            await anyio.sleep(3700)


async def test_a_submitter_whose_run_goes_on_is_never_forgotten_however_long_it_is_silent():
    goes_on = anyio.Event()
    async with runner_of(counting(goes_on)) as (runner, first):
        await first.post(START)
        assert texts(await first.poll(wait_s=1)) == ["one"]
        await anyio.sleep(7200)
        await Submitter(runner, "second").poll()
        goes_on.set()
        await anyio.wait_all_tasks_blocked()
        assert texts(await first.poll()) == ["two"]


async def test_pieces_of_text_are_joined_where_too_many_wait_and_none_is_lost():
    async def act(_request, sink):
        for number in range(1000):
            sink.emit(TextDelta(text=f"{number} "))
        return "done"

    async with runner_of(act, max_unsent=10) as (_, first):
        await first.post(START)
        await anyio.wait_all_tasks_blocked()
        reports = await first.poll()
    assert len(reports) == 11
    assert "".join(texts(reports)) == "".join(f"{number} " for number in range(1000))
    assert [one.n for one in reports] == list(range(1, 12))


async def test_a_frame_is_not_larger_than_4_mib_and_the_rest_follows():
    async def act(_request, sink):
        for number in range(10):
            sink.emit(TextDelta(text=f"{number}" * 2**20))
        return "done"

    async with runner_of(act) as (_, first):
        await first.post(START)
        await anyio.wait_all_tasks_blocked()
        frames = [await first.poll() for _ in range(5)]
    assert [len(one) for one in frames] == [3, 3, 3, 2, 0]


async def test_messages_for_another_life_of_the_runner_are_not_taken():
    started = []

    async def act(request, _sink):
        started.append(request)
        return "done"

    async with runner_of(act) as (runner, first):
        first.incarnation = "the one before"
        receipt = await first.post(START)
        await anyio.wait_all_tasks_blocked()
    assert (receipt.taken, receipt.incarnation, started) == (0, runner.incarnation, [])


async def test_a_message_that_comes_twice_or_after_later_ones_counts_once():
    started = []

    async def act(request, _sink):
        started.append(request)
        await anyio.sleep_forever()

    async with runner_of(act) as (_, first):
        await first.post(START)
        first.sent = 0
        assert (await first.post(START, CancelRun(run_key="k"))).taken == 2
        first.sent = 5
        assert (await first.post(StartRun(run_key="too early", run=RUN))).taken == 2
        (ended,) = await first.poll(wait_s=1)
    assert ended.error.code == "task_aborted"
    assert len(started) == 1


async def test_a_run_that_cannot_be_read_or_opened_ends_at_once():
    async def act(_request, _sink):
        return "done"

    bundle = replace(RUN, spec=replace(RUN.spec, workspace=Workspace(kind="bundle", path="", bundle="UEs=")))
    async with runner_of(act) as (runner, first):
        frame = dump(Post(owner="first", incarnation=runner.incarnation, first=1))
        await runner.post({**frame, "messages": [{**dump(START), "run": {"prompt": 3}}]})
        first.sent = 1
        await first.post(StartRun(run_key="b", run=bundle))
        await anyio.wait_all_tasks_blocked()
        unread, unopened = await first.poll()
    assert unread.error.message.startswith("The runner cannot read the run: This is no message 'start': run.")
    assert unopened.error.message == ("There is no directory for workspaces: neither XDG_CACHE_HOME nor HOME is set.")


async def test_a_backend_that_raises_is_told_as_in_the_same_process():
    async def act(_request, _sink):
        raise LookupError("no luck")

    async with runner_of(act) as (_, first):
        await first.post(START)
        (ended,) = await first.poll(wait_s=1)
    assert ended.error.message == "Task task_1 backend failed: LookupError: no luck"


async def test_a_closed_runner_ends_its_runs():
    ended = []

    async def act(_request, _sink):
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(True)

    async with runner_of(act) as (_, first):
        await first.post(START)
        await anyio.wait_all_tasks_blocked()
    assert ended == [True]


@pytest.mark.parametrize("place", [lambda here: here, Remotely], ids=["here", "remote"])
@pytest.mark.parametrize("stop", ["clock", "cancel"])
async def test_the_last_request_of_a_run_that_is_stopped_counts_with_what_it_has_cost(place, stop):
    """A task that is cancelled has settled before its backend can tell tokens; one that a limit stops has not."""
    log, used = EventLog(), Usage(requests=1, input_tokens=7, cost_usd=Decimal("0.5"))

    async def act(request, sink):
        async with request.gate.request(RequestNeed(provider="acme")):
            try:
                sink.emit(TextDelta(text="on"))
                await anyio.sleep_forever()
            finally:
                sink.emit(UsageAdded(usage=used))

    config = {"subagentBackend": "acting"}
    async with Ohm.open(env=HERMETIC, config=config, plugins=[place(ActingBackend(act)), log]) as ohm:
        handle = await ohm.start("finder", "Go on")
        await log.until(lambda _task, event: isinstance(event, TextDelta))
        await (handle.cancel() if stop == "cancel" else handle.wait())
        await log.until(lambda task, _event: task.activity.usage.cost_usd is not None)
        assert ohm.task(handle.id).activity.usage == used
