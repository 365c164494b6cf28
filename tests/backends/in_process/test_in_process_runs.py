"""A subagent works: streams, calls tools, counts what it used."""

from decimal import Decimal
from pathlib import Path

import anyio
import pytest
from model_server import Call, Gate, ModelServer, Say, Think, Tokens
from subagent_runs import EventLog, acme, answer, child_tool, error, kinds, opened, request, tool_of

from ohm_subagents._plugins.suites.tool import ToolCall, ToolResult
from ohm_subagents.contract import (
    Checkpointed,
    DiagnosticRaised,
    ErrorCode,
    ModelPattern,
    RouteResolved,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    UsageAdded,
)
from ohm_subagents.contract.services import CompatibleModel

pytestmark = pytest.mark.anyio


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "cap.py").write_text("def cap(text):\n    return text[:10]\n")
    (tmp_path / "README.md").write_text("# Demo\n")
    return tmp_path


async def test_two_tool_calls_over_a_tree_lead_to_an_answer(tree: Path) -> None:
    script = (
        Say(Think("Look around."), "Let me look.", Call("ls", {"path": "."}, id="c1")),
        Say(Call("read", {"path": "src/cap.py"}, id="c2")),
        Say("It is ", "in src/cap.py."),
    )
    log = EventLog()
    async with ModelServer(*script) as server, opened(acme(server)) as backend:
        outcome = await backend.run(request(cwd=tree, tools=("ls", "read")), log)
    assert answer(outcome) == "It is in src/cap.py."
    assert [(started.call_id, started.tool, started.args) for started in log.of(ToolStarted)] == [
        ("c1", "ls", '{"path":"."}'),
        ("c2", "read", '{"path":"src/cap.py"}'),
    ]
    assert [(ended.call_id, ended.status) for ended in log.of(ToolEnded)] == [("c1", "success"), ("c2", "success")]
    listing, content = (ended.text for ended in log.of(ToolEnded))
    assert "README.md" in listing
    assert "def cap(text):" in content
    assert "def cap(text):" in server.requests[2].tool_results[1]
    assert server.requests[0].tool_names == ["read", "ls"]
    assert server.requests[0].messages[0] == {"role": "system", "content": "You are the finder."}
    assert server.requests[0].prompt == "Where is it?"


async def test_events_come_in_the_order_in_which_things_happened(tree: Path) -> None:
    script = (Say(Think("Hm."), "Looking.", Call("ls")), Say("Done."))
    log = EventLog()
    async with ModelServer(*script) as server, opened(acme(server)) as backend:
        await backend.run(request(cwd=tree, tools=("ls",)), log)
    assert kinds(log.events) == [
        "route_resolved",
        "thinking_delta",
        "text_delta",
        "usage_added",
        "tool_started",
        "tool_ended",
        "checkpointed",
        "text_delta",
        "usage_added",
        "checkpointed",
        "agent_ended",
    ]
    assert log.of(RouteResolved) == [
        RouteResolved(provider="acme", model="m1", runtime="pi-sdk", route="interactive-sdk")
    ]
    assert log.of(ThinkingDelta) == [ThinkingDelta(text="Hm.")]


async def test_deltas_arrive_while_the_model_still_speaks() -> None:
    gate = Gate()
    log = EventLog()
    arrived = anyio.Event()

    class Watching(EventLog):
        def emit(self, event: object) -> None:
            log.emit(event)  # type: ignore[arg-type]  # what the backend emits
            if isinstance(event, TextDelta) and event.text == "one ":
                arrived.set()

    async with (
        ModelServer(Say("one ", gate, "two")) as server,
        opened(acme(server)) as backend,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(backend.run, request(), Watching())
        await arrived.wait()
        assert [delta.text for delta in log.of(TextDelta)] == ["one "]
        gate.open()
    assert [delta.text for delta in log.of(TextDelta)] == ["one ", "two"]


async def test_each_response_adds_its_usage_and_an_unpriced_one_has_no_cost() -> None:
    script = (
        Say(Call("look"), tokens=Tokens(prompt=100, completion=7, cached=40)),
        Say("ok", tokens=Tokens(prompt=150, completion=3, cached=0)),
    )
    log = EventLog()
    look = child_tool("look", ToolResult(text="seen", details={}))
    async with ModelServer(*script) as server, opened(acme(server)) as backend:
        await backend.run(request(child_tools=(look,)), log)
    first, second = (added.usage for added in log.of(UsageAdded))
    assert (first.requests, first.input_tokens, first.output_tokens, first.cached_tokens) == (1, 100, 7, 40)
    assert (second.requests, second.input_tokens, second.output_tokens, second.cached_tokens) == (1, 150, 3, 0)
    assert first.cost_usd is None
    assert first.tool_calls == 0, "the engine counts tool calls"


async def test_a_response_of_a_priced_model_has_its_cost() -> None:
    log = EventLog()
    async with ModelServer(Say("ok")) as server, opened(acme(server, name="deepseek")) as backend:
        await backend.run(request(model=ModelPattern(provider="deepseek", model="deepseek-chat")), log)
    cost = log.of(UsageAdded)[0].usage.cost_usd
    assert isinstance(cost, Decimal)
    assert cost > 0


async def test_a_tool_of_a_plugin_is_called_and_reports_progress() -> None:
    calls: list[object] = []
    tool = child_tool("look", ToolResult(text="half", details={}), ToolResult(text="found", details={}), calls=calls)
    log = EventLog()
    script = (Say(Call("look", {"ctx": "any name is fine"}, id="c1")), Say("ok"))
    async with ModelServer(*script) as server, opened(acme(server)) as backend:
        await backend.run(request(child_tools=(tool,)), log)
    assert calls == [{"ctx": "any name is fine"}]
    assert log.of(ToolUpdated) == [ToolUpdated(call_id="c1", tool="look", text="half")]
    assert log.of(ToolEnded) == [ToolEnded(call_id="c1", tool="look", status="success", text="found")]
    assert server.requests[1].tool_results == ["found"]


async def test_a_tool_of_a_plugin_that_fails_is_told_to_the_model() -> None:
    tool = child_tool("look", ToolResult(text="No such place.", details={}, is_error=True))
    log = EventLog()
    async with ModelServer(Say(Call("look")), Say("It is not there.")) as server, opened(acme(server)) as backend:
        outcome = await backend.run(request(child_tools=(tool,)), log)
    assert answer(outcome) == "It is not there."
    assert [(ended.status, ended.text) for ended in log.of(ToolEnded)] == [("error", "No such place.")]


async def test_a_tool_with_a_bug_costs_its_call_and_not_the_run() -> None:
    async def execute(call: ToolCall) -> ToolResult:
        msg = f"a bug with {call.arguments}"
        raise LookupError(msg)

    tool = tool_of("look", execute)
    log = EventLog()
    async with ModelServer(Say(Call("look")), Say("Went on.")) as server, opened(acme(server)) as backend:
        outcome = await backend.run(request(child_tools=(tool,)), log)
    assert answer(outcome) == "Went on."
    assert log.of(ToolEnded)[0].status == "error"
    assert "LookupError: a bug with {}" in log.of(ToolEnded)[0].text


async def test_a_tool_that_the_policy_did_not_give_is_an_error_for_the_model(tree: Path) -> None:
    log = EventLog()
    async with (
        ModelServer(Say(Call("write", {"path": "x"})), Say("Then not.")) as server,
        opened(acme(server)) as backend,
    ):
        outcome = await backend.run(request(cwd=tree, tools=("ls",)), log)
    assert answer(outcome) == "Then not."
    assert log.of(ToolEnded)[0].status == "error"
    assert not (tree / "x").exists()


async def test_the_request_limit_of_the_options_stops_a_looping_model() -> None:
    look = child_tool("look", ToolResult(text="seen", details={}))
    async with ModelServer(lambda _: Say(Call("look"))) as server, opened(acme(server), request_limit=3) as backend:
        failed = error(await backend.run(request(child_tools=(look,)), EventLog()))
    assert failed.code == ErrorCode.USAGE_LIMIT_EXCEEDED
    assert "requestLimit" in failed.advice
    assert len(server.requests) == 3


@pytest.mark.slow
async def test_without_a_limit_a_long_run_goes_on_past_the_default_of_the_library() -> None:
    look = child_tool("look", ToolResult(text="seen", details={}))
    script = [*(Say(Call("look")) for _ in range(50)), Say("Done.")]
    async with ModelServer(*script) as server, opened(acme(server)) as backend:
        assert answer(await backend.run(request(child_tools=(look,)), EventLog())) == "Done."


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("thinking", "sent"), [("off", "none"), ("minimal", "minimal"), ("high", "high"), ("xhigh", "xhigh"), (None, None)]
)
async def test_a_thinking_level_reaches_a_custom_model_that_supports_it(thinking: str | None, sent: str | None) -> None:
    log = EventLog()
    model = CompatibleModel(id="m1", supports_thinking=True, context_window=8000)
    async with ModelServer(Say("ok")) as server, opened(acme(server, model)) as backend:
        pattern = ModelPattern(provider="acme", model="m1", thinking=thinking)  # type: ignore[arg-type]  # parametrized level
        await backend.run(request(model=pattern), log)
    assert server.requests[0].body.get("reasoning_effort") == sent
    assert log.of(DiagnosticRaised) == []


async def test_a_thinking_level_without_effect_is_said() -> None:
    log = EventLog()
    model = CompatibleModel(id="m1", supports_thinking=False)
    async with ModelServer(Say("ok")) as server, opened(acme(server, model)) as backend:
        await backend.run(request(model=ModelPattern(provider="acme", model="m1", thinking="high")), log)
    assert "reasoning_effort" not in server.requests[0].body
    assert [raised.diagnostic.message for raised in log.of(DiagnosticRaised)] == [
        'Model "acme/m1" takes no thinking setting, so "high" has no effect.'
    ]


@pytest.mark.parametrize(
    ("suffix", "meant"),
    [("hgih", "high"), ("hihg", "high"), ("Mediun", "medium"), ("minmal", "minimal"), ("of", "off")],
)
async def test_a_misspelt_thinking_level_is_said_even_when_no_such_model_opens(suffix: str, meant: str) -> None:
    log = EventLog()
    async with ModelServer() as server, opened(acme(server, CompatibleModel(id="m1"))) as backend:
        pattern = ModelPattern(provider="acme", model=f"m1:{suffix}")
        assert error(await backend.run(request(model=pattern), log)).code == ErrorCode.MODEL_UNKNOWN
    assert [raised.diagnostic.message for raised in log.of(DiagnosticRaised)] == [
        f"'{suffix}' of model 'acme/m1:{suffix}' is no thinking level: a model of this whole name is asked. "
        f"Did you mean '{meant}'? The levels are off, minimal, low, medium, high, xhigh."
    ]


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["m1", "qwen3:8b", "deepseek-r1:free", "phi3:mini", "llama:latest", "x:thinking"])
async def test_a_name_with_a_colon_of_its_own_is_left_alone(name: str) -> None:
    log = EventLog()
    async with ModelServer(Say("ok")) as server, opened(acme(server)) as backend:
        await backend.run(request(model=ModelPattern(provider="acme", model=name)), log)
    assert log.of(DiagnosticRaised) == []


async def test_a_model_name_that_no_price_list_of_its_provider_has_is_said() -> None:
    log = EventLog()
    async with ModelServer(Say("ok")) as server, opened(acme(server, name="deepseek")) as backend:
        await backend.run(request(model=ModelPattern(provider="deepseek", model="deepsick-9")), log)
    assert ['"deepseek/deepsick-9" is in no price list' in d.diagnostic.message for d in log.of(DiagnosticRaised)] == [
        True
    ]


@pytest.mark.parametrize("finish", ["length", "content_filter"])
async def test_an_answer_that_was_cut_off_is_said_to_be(finish: str) -> None:
    log = EventLog()
    async with ModelServer(Say("Half an ans", finish=finish)) as server, opened(acme(server)) as backend:
        assert answer(await backend.run(request(), log)) == "Half an ans"
    assert "cut off" in log.of(DiagnosticRaised)[0].diagnostic.message


async def test_large_and_foreign_text_arrives_whole() -> None:
    text = "Grüße, 世界 🧭 " * 20_000
    async with ModelServer(lambda asked: Say(asked.prompt)) as server, opened(acme(server)) as backend:
        assert answer(await backend.run(request(text), EventLog())) == text


async def test_the_newest_checkpoint_holds_the_results_of_the_last_tools() -> None:
    look = child_tool("look", ToolResult(text="the result of a tool", details={}))
    gate = Gate()
    log = EventLog()
    async with (
        ModelServer(Say(Call("look")), Say(gate, "ok")) as server,
        opened(acme(server)) as backend,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(backend.run, request(child_tools=(look,)), log)
        await gate.reached()
        assert "the result of a tool" in log.of(Checkpointed)[-1].state
        gate.open()
