"""Backends that do not let go, families of tasks, and values of a wrong kind: nothing hangs, nobody else pays."""

import gc
import weakref
from decimal import Decimal

import anyio
import pytest
from acting import ALL, ActingBackend

from ohm_subagents import Budget, ErrorCode, Limits, LoopPolicy, Ohm, OhmError
from ohm_subagents.contract import TextDelta, ToolStarted, Usage, UsageAdded
from ohm_subagents.plugin import Checkpointed, Err, RequestNeed
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

NESTING = {"budget": {"depth": 2}}


@pytest.fixture
def anyio_backend(virtual_time):
    return virtual_time


def opened(*backends, **subagents):
    config = {"subagentBackend": "acting", "subagents": {"asyncStart": "allow", **subagents}}
    return Ohm.open(env=HERMETIC, config=config, plugins=backends)


async def deaf(request, sink):
    sink.emit(TextDelta(text="so far"))
    with anyio.CancelScope(shield=True):
        await anyio.sleep(60)
    return "too late"


async def test_a_backend_that_cannot_be_cancelled_is_left_to_itself():
    async with opened(ActingBackend(deaf)) as ohm:
        begun = anyio.current_time()
        error = (await ohm.run("finder", "p", limits=Limits(cap_ms=10_000))).err_value
        seconds = anyio.current_time() - begun
        envelope = ohm.envelope(error.task_id)

    assert (error.code, seconds) == (ErrorCode.BACKEND_TIMEOUT, 15)
    assert (envelope.status, envelope.stopped_by, envelope.assistant_text) == ("failed", "cap", "so far")


async def test_what_a_backend_raises_while_it_is_stopped_does_not_hide_why_it_was_stopped():
    async def act(request, sink):
        try:
            await anyio.sleep_forever()
        finally:
            raise RuntimeError("in the clean-up")

    async with opened(ActingBackend(act)) as ohm:
        error = (await ohm.run("finder", "p", limits=Limits(cap_ms=1000))).err_value

    assert error.code == ErrorCode.BACKEND_TIMEOUT


async def test_an_answer_that_comes_before_the_stop_takes_effect_is_an_answer():
    async def act(request, sink):
        sink.emit(UsageAdded(usage=Usage(requests=1, input_tokens=900)))
        return "done"

    async with opened(ActingBackend(act)) as ohm:
        envelope = (await ohm.run("finder", "p", budget=Budget(requests=5, tokens=500))).ok_value

    assert (envelope.output, envelope.stopped_by) == ("done", None)
    assert any("500 tokens" in one for one in envelope.diagnostics)


@pytest.mark.parametrize(
    "event",
    [TextDelta(text=123), ToolStarted(call_id="1", tool="read", args=None), UsageAdded(usage=None)],
    ids=["text", "tool", "usage"],
)
async def test_an_event_of_wrong_types_costs_its_own_run_only(event):
    async def act(request, sink):
        if request.prompt == "bad":
            sink.emit(event)
        await anyio.sleep(1)
        return "done"

    tasks = [{"subagent_type": "finder", "description": "d", "prompt": prompt} for prompt in ("bad", "good")]
    async with opened(ActingBackend(act)) as ohm:
        bad, good = (await ohm.call("task", {"op": "start", "tasks": tasks, "parallel": True})).details["items"]

    assert (bad["error_code"], good["status"]) == (ErrorCode.BACKEND_FAILED, "succeeded")
    assert "TypeError" in bad["error_message"]


@pytest.mark.parametrize("given", [{"limits": {"cap_ms": 1}}, {"budget": {"tokens": 1}}, {"loop": "x"}])
async def test_limits_of_a_wrong_kind_are_refused_in_words(given):
    [name] = given
    async with opened(ActingBackend(deaf)) as ohm:
        error = (await ohm.run("finder", "p", **given)).err_value

    assert error.code == ErrorCode.INVALID_TASK_PAYLOAD
    assert f"`{name}`" in error.message


@pytest.mark.parametrize("value", ["100", 1.5, True, float("nan")])
def test_a_limit_that_is_no_whole_number_is_a_mistake_of_the_program(value):
    with pytest.raises(ValueError, match="cap_ms"):
        Limits(cap_ms=value)


def test_money_may_be_given_as_it_is_written():
    assert Budget(cost_usd=0.5) == Budget(cost_usd="0.50") == Budget(cost_usd=Decimal("0.5"))
    with pytest.raises(ValueError, match="cost_usd"):
        Budget(cost_usd="much")
    with pytest.raises(ValueError, match="identical_calls"):
        LoopPolicy(identical_calls=-1)


async def test_a_run_is_asked_to_finish_before_the_soft_limit_by_default():
    asked = []

    async def act(request, sink):
        sink.emit(TextDelta(text="."))
        with request.inbox.steered_by(lambda _text: True, lambda _text: not asked.append(anyio.current_time())):
            await anyio.sleep_forever()

    async with opened(ActingBackend(act)) as ohm:
        begun = anyio.current_time()
        await ohm.run("finder", "p")

    assert [at - begun for at in asked] == [150]


class TestFamilies:
    async def test_the_clocks_of_a_task_wait_while_it_waits_for_another(self):
        async def act(request, sink):
            if request.description == "inner":
                for _ in range(20):
                    await anyio.sleep(60)
                    sink.emit(TextDelta(text="."))
                return "inner"
            sink.emit(ToolStarted(call_id="1", tool="task", args=""))
            answer = await ohm.run("finder", "p", description="inner", limits=Limits(cap_ms=10**7))
            return answer if isinstance(answer, Err) else "outer"

        async with opened(ActingBackend(act), **NESTING) as ohm:
            result = await ohm.run("finder", "p", description="outer", limits=Limits(tool_ms=5000))

        assert result.ok_value.output == "outer"

    async def test_what_a_task_starts_ends_with_it(self):
        async def act(request, sink):
            if request.description == "inner":
                await anyio.sleep_forever()
            children.append(await ohm.start("finder", "p", description="inner"))
            return "gone"

        children = []
        async with opened(ActingBackend(act), **NESTING) as ohm:
            await ohm.run("finder", "p", description="outer")
            error = (await children[0].wait()).err_value

        assert error.code == ErrorCode.TASK_ABORTED


class TestRequests:
    async def test_tokens_that_nobody_counted_are_taken_to_be_those_that_were_set_aside(self):
        need = RequestNeed(provider="acme", input_tokens=300, max_output_tokens=300)
        asked = []

        async def act(request, sink):
            for number in range(50):
                async with request.gate.request(need) as leave:
                    if isinstance(leave, Err):
                        return leave
                    asked.append(number)
                    sink.emit(UsageAdded(usage=Usage(requests=1)))
            return "never"

        async with opened(ActingBackend(act)) as ohm:
            await ohm.run("finder", "p", budget=Budget(tokens=2000))

        assert len(asked) <= 4

    async def test_a_run_makes_one_request_at_a_time_and_none_is_counted_twice(self):
        now = peak = made = 0

        async def one(request, sink):
            nonlocal now, peak, made
            async with request.gate.request(RequestNeed(provider="acme")) as leave:
                if isinstance(leave, Err):
                    return
                now, made = now + 1, made + 1
                peak = max(peak, now)
                await anyio.sleep(1)
                now -= 1
                sink.emit(UsageAdded(usage=Usage(requests=1)))

        async def act(request, sink):
            async with anyio.create_task_group() as group:
                for _ in range(4):
                    group.start_soon(one, request, sink)
            return "done"

        async with opened(ActingBackend(act)) as ohm:
            envelope = (await ohm.run("finder", "p", budget=Budget(requests=4))).ok_value

        assert (made, peak, envelope.usage.requests) == (4, 1, 4)


async def test_a_continued_task_stays_on_its_backend_and_hands_no_checkpoint_to_another():
    async def act(request, sink):
        await anyio.sleep(1)
        sink.emit(Checkpointed(state="mine"))
        return "done"

    special, other = ActingBackend(act, id="special"), ActingBackend(act, capabilities=ALL)
    async with opened(special, other, sendToFinished="resume") as ohm:
        first = (await ohm.run("finder", "p", backend="special")).ok_value
        await ohm.call("task", {"op": "send", "id": first.task_id, "prompt": "and?"})

    assert (len(special.requests), len(other.requests)) == (2, 0)
    assert special.requests[1].checkpoint == "mine"


async def test_a_wait_that_a_provider_asks_for_holds_for_the_others_even_when_one_gives_up():
    sent = []

    async def act(request, sink):
        async with request.gate.request(RequestNeed(provider="acme")) as leave:
            assert leave.ok_value
            sent.append(anyio.current_time())
            await request.gate.throttled("acme", attempt=9, retry_after_s=30)
        return Err(error)

    error = OhmError(code=ErrorCode.PROVIDER_RATE_LIMITED, message="Slow down.")
    async with opened(ActingBackend(act)) as ohm:
        begun = anyio.current_time()
        await ohm.run("finder", "p")
        await ohm.run("finder", "p")

    assert [at - begun for at in sent] == [0, 30]


async def test_nothing_is_kept_of_a_run_that_is_over_while_others_go_on():
    """Neither by the alarm clock, whose hour is still to come, nor in a circle that waits for the collector."""
    gates = []

    async def act(request, sink):
        if request.prompt == "short":
            gates.append(weakref.ref(request.gate))
        else:
            await anyio.sleep(100)
        return "done"

    backend = ActingBackend(act)
    async with opened(backend) as ohm:
        handle = await ohm.start("finder", "long")
        gc.disable()
        try:
            await ohm.run("finder", "short")
            await anyio.sleep(1)
            backend.requests.clear()
            assert gates[0]() is None
        finally:
            gc.enable()
        assert (await handle.wait()).ok_value.output == "done"
