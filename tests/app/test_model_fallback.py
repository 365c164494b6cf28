"""Work that a real model on loopback could not do is done by the next of its list, from where it stopped."""

from contextlib import asynccontextmanager
from decimal import Decimal

import anyio
import pytest
from advancing_loop import advance
from model_server import Call, Drop, ModelServer, Say, Status, Tokens
from recorded_spans import RecordedSpans, events

from ohm_subagents import Budget, ErrorCode, Image, Ohm
from ohm_subagents.plugin import ToolResult
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

MENU = {"fast": {"model": "first/small", "fallback": ["second/big"]}}
QUOTA = Status(429, "You exceeded your current quota", error_code="insufficient_quota")
NOTES = {"path": "notes.txt", "content": "half of it\n"}
TOKENS = Tokens(prompt=100, completion=10, cached=0)


@pytest.fixture
def anyio_backend(moved_time):
    return moved_time


def provider(server):
    models = [{"id": "small", "supportsImages": True}, "big"]
    return {"baseUrl": server.url, "apiKeyEnv": "KEY", "models": models}


def opened(first, second, cwd, **subagents):
    config = {
        "providers": {"first": provider(first), "second": provider(second)},
        "subagents": {"model": "fast", "models": MENU, "requestRetries": 0, **subagents},
    }
    return Ohm.open(cwd=cwd, config=config, env=HERMETIC | {"KEY": "secret-key"})


@asynccontextmanager
async def played(first, second, cwd, **subagents):
    """An Ohm, and two servers that give these replies; the second one is asked when the first one fails."""
    async with ModelServer(*first) as one, ModelServer(*second) as other, opened(one, other, cwd, **subagents) as ohm:
        yield ohm, one, other


def used(envelope):
    return [(one.model, one.why) for one in envelope.models_used]


CLASSES = {
    "quota": ([QUOTA], "quota"),
    "5xx": ([Status(500)], "unavailable"),
    "half an answer": ([Say("half", Drop())], "unavailable"),
    "authentication": ([Status(401)], "authentication"),
}


@pytest.mark.sample(4)
@pytest.mark.parametrize(("replies", "why"), CLASSES.values(), ids=CLASSES)
async def test_each_class_of_failure_has_the_next_model_asked(tmp_path, replies, why):
    async with played(replies, [Say("whole", tokens=TOKENS)], tmp_path) as (ohm, first, second):
        envelope = (await ohm.run("oracle", "x")).unwrap()
    assert (envelope.output, envelope.provider, envelope.model) == ("whole", "second", "big")
    assert used(envelope) == [("first/small", "configured as fast"), ("second/big", f"{why} of first/small")]
    assert envelope.assistant_text.endswith("whole")
    assert second.requests[0].prompt == first.requests[0].prompt


async def test_overload_counts_once_its_retries_are_used_up(tmp_path):
    again = Status(429, headers=(("Retry-After", "0"),))
    async with played([again, again, again], [Say("whole")], tmp_path, requestRetries=2) as (ohm, first, _second):
        assert used((await ohm.run("oracle", "x")).unwrap())[-1] == ("second/big", "overload of first/small")
    assert len(first.requests) == 3


async def test_a_file_that_was_written_is_not_written_again(tmp_path):
    begun = Say("First the notes.", Call("write", NOTES), tokens=TOKENS)
    async with played([begun, QUOTA], [Say("All done.", tokens=TOKENS)], tmp_path) as (ohm, _first, second):
        envelope = (await ohm.run("task", "Write the notes.")).unwrap()
    (request,) = second.requests
    assert envelope.files == ["notes.txt"]
    assert [row[:7] for row in envelope.tool_rows] == ["○ write", "✓ write"]
    assert request.prompt.startswith("You take over from another model")
    assert any("Write the notes." in str(message) for message in request.messages)
    assert len(request.tool_results) == 1
    assert (envelope.usage.requests, envelope.usage.input_tokens) == (3, 200)  # one was refused
    assert envelope.assistant_text == "First the notes.\n\nAll done."
    assert envelope.diagnostics[0].startswith("second/big goes on from where first/small stopped: ")


async def test_the_cool_down_of_a_model_holds_for_all_tasks_and_ends(tmp_path):
    async with played(
        [QUOTA, Say("first again")], [lambda _: Say("second")], tmp_path, modelFallback={"coolDownMs": 30_000}
    ) as (ohm, first, _second):
        outputs = [(await ohm.run("oracle", "x")).unwrap().output]
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(ohm.run, "oracle", "x")
        assert len(first.requests) == 1
        advance(30)
        outputs.append((await ohm.run("oracle", "x")).unwrap().output)
    assert outputs == ["second", "first again"]


async def test_when_all_models_fail_each_is_named(tmp_path):
    async with played([QUOTA], [Status(401)], tmp_path) as (ohm, _first, _second):
        error = (await ohm.run("oracle", "x")).err_value
    assert error.code == ErrorCode.PROVIDER_AUTHENTICATION
    assert 'first/small failed before it: Model "first/small" refused because the quota' in error.advice


async def test_a_model_without_a_price_is_passed_over_under_a_budget_of_cost(tmp_path):
    menu = {"fast": {"model": "openai/gpt-4o-mini", "fallback": ["second/big"]}}
    async with played([QUOTA], [], tmp_path, models=menu) as (ohm, _first, second):
        budget = Budget(cost_usd=Decimal(1))
        error = (await ohm.run("oracle", "x", budget=budget)).err_value
        task = ohm.task(error.task_id)
    assert error.code == ErrorCode.BUDGET_UNENFORCEABLE
    assert "the price of 'second/big' is unknown" in error.message
    assert "openai/gpt-4o-mini failed before it: No key for provider" in error.advice
    assert task.stopped_by is None
    assert second.requests == []


async def test_a_request_that_the_next_model_rejects_is_told_with_the_first_failure(tmp_path):
    rejected = Status(400, "this model has no tools")
    async with played([QUOTA], [rejected], tmp_path) as (ohm, _first, _second):
        error = (await ohm.run("finder", "x")).err_value
    assert error.code == ErrorCode.PROVIDER_REQUEST_REJECTED
    assert "this model has no tools" in error.message
    assert "first/small failed before it" in error.advice


async def test_a_key_that_is_missing_is_a_failure_like_a_refused_one(tmp_path):
    menu = {"fast": {"model": "openai/gpt-4o-mini", "fallback": ["second/big"]}}
    async with played([], [Say("whole")], tmp_path, models=menu) as (ohm, _first, _second):
        envelope = (await ohm.run("oracle", "x")).unwrap()
    assert used(envelope)[-1] == ("second/big", "authentication of openai/gpt-4o-mini")


async def test_a_span_tells_which_model_was_chosen_and_why(tmp_path, monkeypatch):
    spans = RecordedSpans(monkeypatch)
    async with played([QUOTA], [Say("whole")], tmp_path) as (ohm, _first, _second):
        await ohm.run("oracle", "x")
    chosen = [about for name, about in events(spans.one("invoke_agent oracle")) if name == "model.selected"]
    assert chosen == [
        {"gen_ai.request.model": "first/small", "ohm.model.why": "configured as fast"},
        {"gen_ai.request.model": "second/big", "ohm.model.why": "quota of first/small"},
    ]


async def test_a_model_that_reads_no_images_goes_on_from_one_that_has_seen_some(tmp_path):
    picture = Image(data=b"\x89PNG" + b"p" * 300, media_type="image/png")

    def draw() -> ToolResult:
        """Draw."""
        return ToolResult(text=f"Here: {picture.label}", details={}, images=(picture,))

    replies = [Say(Call("draw"), tokens=TOKENS), QUOTA], [Say("Drawn.")]
    async with played(*replies, tmp_path) as (ohm, first, second):
        assert (await ohm.run("task", "Draw.", tools=[draw])).unwrap().output == "Drawn."
    assert "base64" in str(first.requests[1].messages)
    (request,) = second.requests
    assert "base64" not in str(request.messages)
    assert "Images are not kept: call the tool again to see one." in request.tool_results[0]
