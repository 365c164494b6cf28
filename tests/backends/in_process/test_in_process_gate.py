"""Every model request passes the engine's gate, and what it used is told before the gate is left."""

from decimal import Decimal

import anyio
import pytest
from advancing_loop import advance
from fake_engine import FakeGate, Throttle
from model_server import Call, Drop, Gate, ModelServer, Reply, Say, Stall, Status, Tokens
from pydantic_ai.models.test import TestModel
from subagent_runs import ENV, EventLog, acme, answer, child_tool, error, offering, opened, request

from ohm_subagents._plugins.backends.gate import Grant
from ohm_subagents._plugins.backends.interface import ModelSpec
from ohm_subagents._plugins.suites.tool import ToolResult
from ohm_subagents.backends.in_process.options import InProcessOptions
from ohm_subagents.backends.in_process.spec import interactive_sdk_spec
from ohm_subagents.contract import Checkpointed, Err, ErrorCode, ModelPattern, OhmError, Ok, ToolEnded, UsageAdded

pytestmark = pytest.mark.anyio

SPENT = OhmError(code=ErrorCode.BUDGET_EXCEEDED, message="The budget is spent.")


def looking(calls: list[object] | None = None):
    return child_tool("look", ToolResult(text="seen", details={}), calls=calls)


async def test_each_request_asks_and_tells_its_usage_before_it_lets_go() -> None:
    gate = FakeGate()
    async with ModelServer(Say("Hm.", Call("look")), Say("Done.")) as server, opened(acme(server)) as backend:
        await backend.run(request(child_tools=(looking(),), gate=gate), gate.log)
    assert gate.story == [
        "route_resolved",
        "asked",
        "text_delta",
        "usage_added",
        "left",
        "tool_started",
        "tool_ended",
        "checkpointed",
        "asked",
        "text_delta",
        "usage_added",
        "left",
        "checkpointed",
        "agent_ended",
    ]


async def test_the_gate_is_held_until_the_answer_is_complete() -> None:
    gate, rest = FakeGate(), Gate()
    async with (
        ModelServer(Say("one ", rest, "two")) as server,
        opened(acme(server)) as backend,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(backend.run, request(gate=gate), gate.log)
        await rest.reached()
        assert gate.held == 1
        rest.open()
    assert gate.held == 0


async def test_a_refusal_of_the_gate_is_the_answer_and_nothing_is_asked() -> None:
    async with ModelServer() as server, opened(acme(server)) as backend:
        assert error(await backend.run(request(gate=FakeGate(Err(SPENT))), EventLog())) is SPENT
    assert server.requests == []


async def test_a_refusal_half_way_keeps_the_turns_before() -> None:
    gate = FakeGate(Ok(Grant()), Err(SPENT))
    async with ModelServer(Say("Hm.", Call("look"))) as server, opened(acme(server)) as backend:
        assert error(await backend.run(request(child_tools=(looking(),), gate=gate), gate.log)) is SPENT
    assert gate.held == 0
    assert "seen" in gate.log.of(Checkpointed)[-1].state


@pytest.mark.parametrize(("cap", "sent"), [(50, 50), (None, None)])
async def test_what_the_budget_has_left_caps_the_answer(cap: int | None, sent: int | None) -> None:
    gate = FakeGate(Ok(Grant(max_output_tokens=cap)))
    async with ModelServer(Say("ok"), Say("ok")) as server, opened(acme(server)) as backend:
        for _ in range(2):
            answer(await backend.run(request(gate=gate), EventLog()))
    assert [asked.body.get("max_completion_tokens") for asked in server.requests] == [sent, None]


@pytest.mark.parametrize(("own", "cap", "sent"), [(30, 50, 30), (80, 50, 50), (30, None, 30)])
async def test_a_model_that_asks_for_less_itself_gets_less(own: int, cap: int | None, sent: int) -> None:
    seen: list[object] = []

    class Watching(TestModel):
        def request_stream(self, messages, model_settings, *rest):
            seen.append((model_settings or self.settings).get("max_tokens"))
            return super().request_stream(messages, model_settings, *rest)

    gate = FakeGate(Ok(Grant(max_output_tokens=cap)))
    async with plugged(Watching(settings={"max_tokens": own})) as backend:
        await backend.run(request(model=PLUG, gate=gate), EventLog())
    assert seen == [sent]
    assert gate.needs[0].max_output_tokens == own


async def test_the_last_request_goes_out_without_tools_and_says_so() -> None:
    gate = FakeGate(Ok(Grant()), Ok(Grant(is_last=True)))
    async with ModelServer(Say(Call("look")), Say("Enough.")) as server, opened(acme(server)) as backend:
        assert answer(await backend.run(request(child_tools=(looking(),), gate=gate), gate.log)) == "Enough."
    assert [asked.tool_names for asked in server.requests] == [["look"], []]
    assert "last request" in server.requests[1].prompt
    assert "last request" not in gate.log.of(Checkpointed)[-1].state, "a later run of the session has its tools again"


async def test_a_tool_that_is_called_after_the_last_request_does_not_run() -> None:
    calls: list[object] = []
    gate = FakeGate(Ok(Grant(is_last=True)), Err(SPENT))
    async with ModelServer(Say(Call("look"))) as server, opened(acme(server)) as backend:
        outcome = await backend.run(request(child_tools=(looking(calls),), gate=gate), gate.log)
    assert error(outcome) is SPENT
    assert calls == []
    assert [(ended.status, "answer now" in ended.text) for ended in gate.log.of(ToolEnded)] == [("error", True)]


async def test_the_gate_hears_what_a_request_needs() -> None:
    gate = FakeGate()
    script = (Say(Call("look"), tokens=Tokens(prompt=1000, completion=200)), Say("ok"))
    async with ModelServer(*script) as server, opened(acme(server)) as backend:
        await backend.run(request("x" * 4000, child_tools=(looking(),), gate=gate), EventLog())
    first, second = gate.needs
    assert (first.provider, first.model, first.max_output_tokens, first.price) == ("acme", "m1", None, None)
    assert 1000 < first.input_tokens < 1200
    assert 1200 < second.input_tokens < 1250, "what the provider counted, and the tool's result"


async def test_without_counts_of_the_provider_the_estimate_grows_with_what_is_said() -> None:
    gate = FakeGate()
    script = (Say(Call("look"), tokens=None), Say(Call("look"), tokens=None), Say("ok", tokens=None))
    tool = child_tool("look", ToolResult(text="seen " * 400, details={}))
    async with ModelServer(*script) as server, opened(acme(server)) as backend:
        await backend.run(request(child_tools=(tool,), gate=gate), EventLog())
    first, second, third = (need.input_tokens for need in gate.needs)
    assert 0 < first < 200
    assert 500 < second - first < 550
    assert third - second == second - first


async def test_the_price_of_a_known_model_is_told() -> None:
    gate = FakeGate()
    deepseek = ModelPattern(provider="deepseek", model="deepseek-chat")
    async with ModelServer(Say("ok")) as server, opened(acme(server, name="deepseek")) as backend:
        await backend.run(request(model=deepseek, gate=gate), EventLog())
    price = gate.needs[0].price
    assert price is not None
    assert isinstance(price(1000, 0), Decimal)
    assert Decimal(0) < price(1000, 0) < price(1000, 1000)


OVERLOADED = [Status(429), Status(503), Status(529)]


@pytest.mark.parametrize("reply", OVERLOADED, ids=lambda reply: str(reply.code))
async def test_an_overloaded_provider_is_asked_again_as_often_as_the_gate_says(reply: Reply) -> None:
    gate = FakeGate(retries=2)
    async with ModelServer(reply, reply, Say("ok")) as server, opened(acme(server)) as backend:
        assert answer(await backend.run(request(gate=gate), gate.log)) == "ok"
    assert gate.throttles == [Throttle("acme", attempt, None, reply.code) for attempt in (1, 2)]
    assert gate.story == [
        "route_resolved",
        *("asked", "throttled", "left"),
        *("asked", "throttled", "left"),
        *("asked", "text_delta", "usage_added", "left"),
        "checkpointed",
        "agent_ended",
    ]


@pytest.mark.parametrize("reply", OVERLOADED, ids=lambda reply: str(reply.code))
async def test_when_the_gate_has_had_enough_the_provider_s_error_is_the_answer(reply: Reply) -> None:
    gate = FakeGate(retries=1)
    async with ModelServer(lambda _: reply) as server, opened(acme(server)) as backend:
        failed = error(await backend.run(request(gate=gate), gate.log))
    assert failed.code in {ErrorCode.PROVIDER_RATE_LIMITED, ErrorCode.PROVIDER_UNAVAILABLE}
    assert len(server.requests) == 2
    assert gate.held == 0
    assert gate.log.of(UsageAdded) == []


async def test_the_gate_hears_how_long_the_provider_wants_to_be_left_alone() -> None:
    gate = FakeGate()
    limited = Status(429, headers=(("Retry-After", "7"),))
    async with ModelServer(limited) as server, opened(acme(server)) as backend:
        error(await backend.run(request(gate=gate), EventLog()))
    assert gate.throttles == [Throttle("acme", 1, 7, 429)]


async def test_without_a_gate_a_rate_limit_is_reported_at_once() -> None:
    limited = Status(429, headers=(("Retry-After", "0"),))
    async with ModelServer(limited) as server, opened(acme(server)) as backend:
        assert error(await backend.run(request(), EventLog())).code == ErrorCode.PROVIDER_RATE_LIMITED
    assert len(server.requests) == 1


QUOTA = Status(429, "You exceeded your current quota", error_code="insufficient_quota")


@pytest.mark.sample(3)
@pytest.mark.parametrize("reply", [Status(500), Status(401), QUOTA, Drop(), Say("half", Drop())])
async def test_any_other_failure_is_reported_after_one_attempt(reply: Reply) -> None:
    gate = FakeGate(retries=9)
    async with ModelServer(lambda _: reply) as server, opened(acme(server)) as backend:
        error(await backend.run(request(gate=gate), EventLog()))
    assert gate.throttles == []
    assert gate.held == 0
    assert len(server.requests) == 1


class TestInMovedTime:
    @pytest.fixture
    def anyio_backend(self, moved_time: tuple[str, dict[str, object]]) -> tuple[str, dict[str, object]]:
        return moved_time

    @pytest.mark.parametrize("cut", [Drop(), Stall()], ids=["reset", "stall"])
    async def test_a_request_that_was_cut_is_counted_once(self, cut: Drop | Stall) -> None:
        gate = FakeGate()
        script = (Say(Call("look")), Say("half", cut))

        async def time_passes() -> None:
            await gate.log.spoken.wait()
            await anyio.wait_all_tasks_blocked()
            advance(60)

        async with (
            ModelServer(*script) as server,
            opened(acme(server), read_timeout_ms=60_000) as backend,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(time_passes)
            error(await backend.run(request(child_tools=(looking(),), gate=gate), gate.log))
        assert [added.usage.requests for added in gate.log.of(UsageAdded)] == [1, 1]
        assert gate.log.of(UsageAdded)[1].usage.cost_usd is None
        assert gate.story.index("left", gate.story.index("left") + 1) > gate.story.index("usage_added")


async def test_a_cancelled_run_counts_its_request_and_lets_go_of_the_gate() -> None:
    gate = FakeGate()
    async with ModelServer(Say("one ", Stall())) as server, opened(acme(server)) as backend:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(backend.run, request(gate=gate), gate.log)
            await gate.log.spoken.wait()
            tasks.cancel_scope.cancel()
        assert gate.held == 0
    assert [added.usage.requests for added in gate.log.of(UsageAdded)] == [1]


async def test_a_run_that_waits_at_the_gate_can_be_cancelled() -> None:
    class Closed(FakeGate):
        def request(self, need):
            waiting.set()
            return Forever()

    class Forever:
        async def __aenter__(self):
            await anyio.sleep_forever()

        async def __aexit__(self, *error: object) -> None:
            raise AssertionError("never entered")

    waiting = anyio.Event()
    async with ModelServer() as server, opened(acme(server)) as backend, anyio.create_task_group() as tasks:
        tasks.start_soon(backend.run, request(gate=Closed()), EventLog())
        await waiting.wait()
        tasks.cancel_scope.cancel()
    assert server.requests == []


PLUG = ModelPattern(provider="plug", model="m")


def plugged(model: TestModel):
    spec = ModelSpec(provider="plug", summary="A plugin's.", open=lambda _: Ok(model))
    return interactive_sdk_spec(offering(spec, env=ENV)).open(InProcessOptions())
