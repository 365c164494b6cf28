"""Turns at a provider: so many requests at once, Retry-After honoured by everybody, and no stampede."""

from functools import partial

import anyio
import pytest
from acting import ActingBackend

from ohm_subagents import Limits, Ohm
from ohm_subagents._orchestrator.run.throttle import MAX_WAIT_S, Throttle, retry_decision
from ohm_subagents.contract import TextDelta
from ohm_subagents.plugin import Ok, RequestNeed
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

NEED = RequestNeed(provider="acme")
ITEM = {"subagent_type": "finder", "description": "d", "prompt": "p"}


@pytest.fixture
def anyio_backend(virtual_time):
    return virtual_time


class RefusedError(Exception):
    """429."""


class Acme:
    """A provider that takes `at_once` requests of a second each, and refuses with `retry_after_s` before `open_at`."""

    def __init__(self, *, open_at=0.0, retry_after_s=None):
        self.begun = anyio.current_time()
        self.open_at = self.begun + open_at
        self.retry_after_s = retry_after_s
        self.now = self.peak = 0
        self.served = []
        self.refused = []

    @property
    def time(self):
        return anyio.current_time() - self.begun

    async def ask(self):
        if anyio.current_time() < self.open_at:
            self.refused.append(self.time)
            raise RefusedError
        self.served.append(self.time)
        self.now += 1
        self.peak = max(self.peak, self.now)
        await anyio.sleep(1)
        self.now -= 1

    async def patiently(self, gate, attempts=9, then=None):
        """As a backend does it; `then` is the rest of the answer."""
        for attempt in range(1, attempts):
            async with gate.request(NEED) as leave:
                assert isinstance(leave, Ok)
                try:
                    await self.ask()
                except RefusedError:
                    if not await gate.throttled("acme", attempt=attempt, retry_after_s=self.retry_after_s, status=503):
                        raise
                else:
                    if then is not None:
                        await then()
                    return


def opened(act, **subagents):
    config = {"subagentBackend": "acting", "subagents": subagents}
    return Ohm.open(env=HERMETIC, config=config, plugins=[ActingBackend(act)])


async def run_many(ohm, count, **extra):
    payload = {"op": "start", "tasks": [ITEM] * count, "parallel": True}
    return (await ohm.call("task", payload, **extra)).details


async def asking(acme, request, sink):
    await acme.patiently(request.gate)
    sink.emit(TextDelta(text="done"))
    return "done"


class TestThroughAnOhm:
    async def test_no_more_requests_than_configured_are_in_flight_at_one_provider(self):
        acme = Acme()
        async with opened(
            lambda request, sink: asking(acme, request, sink), taskMaxConcurrency=20, maxRequests={"acme": 4}
        ) as ohm:
            details = await run_many(ohm, 20)

        assert (acme.peak, details["batch_status"], acme.time) == (4, "completed", 5)

    async def test_time_in_the_line_of_a_provider_does_not_count(self):
        acme = Acme()
        limits = {"finder": {"limits": {"softMs": 1500, "idleMs": 1500}}}
        async with opened(
            lambda request, sink: asking(acme, request, sink), taskMaxConcurrency=20, maxRequests={"acme": 1}, **limits
        ) as ohm:
            details = await run_many(ohm, 20)

        assert (details["batch_status"], acme.time) == ("completed", 20)

    async def test_a_wait_for_the_provider_is_on_the_record(self):
        acme, events = Acme(open_at=3, retry_after_s=3), []

        class Watch:
            def notify(self, task, event):
                events.append(event)

        async with opened(lambda request, sink: asking(acme, request, sink)) as ohm:
            await ohm.run("finder", "p", observer=Watch())

        held, released = (event for event in events if event.kind.startswith("request"))
        assert (held.why, held.wait_s, held.status, released.kind) == ("rate_limit", 3.0, 503, "request_released")

    async def test_only_the_request_that_goes_first_knows_when_it_goes_out(self):
        acme, held = Acme(open_at=3), []

        class Watch:
            def notify(self, task, event):
                if event.kind == "request_held":
                    held.append(event)

        async with (
            opened(lambda request, sink: asking(acme, request, sink), taskMaxConcurrency=3) as ohm,
            anyio.create_task_group() as group,
        ):
            for _ in range(3):
                group.start_soon(partial(ohm.run, "finder", "p", observer=Watch()))

        assert [one.wait_s is None for one in held[:3]] == [False, True, True]

    async def test_the_others_go_on_as_soon_as_the_first_one_is_being_answered(self):
        acme = Acme(open_at=3, retry_after_s=3)

        async def act(request, sink):
            await acme.patiently(request.gate, then=lambda: talks(sink))
            return "done"

        async def talks(sink):
            for _ in range(60):
                sink.emit(TextDelta(text="."))
                await anyio.sleep(1)

        async with opened(act, taskMaxConcurrency=10) as ohm:
            details = await run_many(ohm, 10)

        assert details["batch_status"] == "completed"
        assert max(acme.served) <= 5, "and not after a minute, when it is done"

    async def test_not_even_a_patient_wait_outlives_the_cap(self):
        acme = Acme(open_at=10_000, retry_after_s=50)
        async with opened(lambda request, sink: asking(acme, request, sink), requestRetries=1000) as ohm:
            error = (await ohm.run("finder", "p", limits=Limits(cap_ms=120_000))).err_value

        assert (error.task_id is not None, acme.time) == (True, 120)


def throttle_of(limits, retries, jitter):
    throttle = Throttle(jitter=jitter)
    throttle.configure(limits=limits, retries=retries)
    return throttle


async def turn(throttle, acme, *, attempts=6):
    held = []
    for attempt in range(1, attempts + 1):
        async with throttle.turn("acme", held=held.append, released=lambda: None):
            try:
                await acme.ask()
            except RefusedError:
                if not throttle.throttled("acme", attempt=attempt, retry_after_s=acme.retry_after_s):
                    raise
            else:
                return


class TestAlone:
    @pytest.fixture
    def jitter(self):
        return lambda: 0.5

    async def test_retry_after_is_honoured_by_everybody_and_one_goes_first(self, jitter):
        throttle, acme = throttle_of({}, 4, jitter), Acme(open_at=7, retry_after_s=7)
        async with anyio.create_task_group() as group:
            for _ in range(30):
                group.start_soon(turn, throttle, acme)
        late = Acme(open_at=0)
        await turn(throttle, late)

        assert set(acme.refused) == {0}, "nobody asked before it was time"
        assert acme.served[0] == 7
        assert all(at >= 8 for at in acme.served[1:]), "the others follow when it got through"
        assert late.served == [0], "and then it is forgotten"

    async def test_who_comes_while_the_provider_is_closed_is_not_refused(self, jitter):
        throttle, acme = throttle_of({}, 4, jitter), Acme(open_at=7, retry_after_s=7)
        async with anyio.create_task_group() as group:
            group.start_soon(turn, throttle, acme)
            await anyio.sleep(1)
            for _ in range(10):
                group.start_soon(turn, throttle, acme)

        assert (len(acme.refused), len(acme.served)) == (1, 11)

    async def test_without_retry_after_the_wait_doubles_and_is_drawn_at_random(self):
        drawn = iter([1.0, 0.5, 1.0, 0.25])
        throttle = throttle_of({}, 4, lambda: next(drawn))
        acme = Acme(open_at=3.0)
        await turn(throttle, acme)

        assert acme.refused == [0, 0.5, 1.0]
        assert acme.served == [3.0]

    async def test_so_many_retries_and_no_more(self, jitter):
        throttle, acme = throttle_of({}, 2, jitter), Acme(open_at=10**6)
        with pytest.raises(RefusedError):
            await turn(throttle, acme)

        assert len(acme.refused) == 3

    async def test_who_is_asked_to_wait_for_more_than_a_minute_gives_up(self, jitter):
        throttle, acme = throttle_of({}, 4, jitter), Acme(open_at=90, retry_after_s=61)
        with pytest.raises(RefusedError):
            await turn(throttle, acme)

        assert acme.refused == [0]

    async def test_one_provider_does_not_wait_for_another(self, jitter):
        throttle, acme = throttle_of({"other": 1}, 4, jitter), Acme(open_at=7, retry_after_s=7)
        async with anyio.create_task_group() as group:
            group.start_soon(turn, throttle, acme)
            await anyio.sleep(1)
            async with throttle.turn("other", held=pytest.fail, released=lambda: None):
                assert acme.time == 1

    async def test_who_leaves_the_line_lets_the_next_one_through(self, jitter):
        throttle, acme = throttle_of({"acme": 1}, 4, jitter), Acme()
        async with anyio.create_task_group() as group:
            group.start_soon(turn, throttle, acme)
            await anyio.sleep(0.1)
            with anyio.move_on_after(0.1):
                await turn(throttle, acme)
            group.start_soon(turn, throttle, acme)

        assert acme.served == [0, 1]


@pytest.mark.parametrize(
    ("attempt", "retry_after_s", "asks_again", "wait_s"),
    [
        (1, None, True, 0.25),
        (2, None, True, 0.5),
        (3, None, False, 1),
        (1, 7, True, 7),
        (1, MAX_WAIT_S, True, MAX_WAIT_S),
        (1, MAX_WAIT_S + 1, False, MAX_WAIT_S),
        (99, None, False, MAX_WAIT_S / 2),
    ],
)
def test_a_refused_request_is_sent_again_within_its_retries_and_the_longest_wait(
    attempt, retry_after_s, asks_again, wait_s
):
    decision = retry_decision(attempt=attempt, retries=2, retry_after_s=retry_after_s, jitter=0.5)
    assert (decision.asks_again, decision.wait_s) == (asks_again, wait_s)
