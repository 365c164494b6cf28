"""SmolLM2-135M for real: plumbing and constrained facts, never the quality of an answer."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Literal
from urllib.error import HTTPError
from urllib.request import urlopen

import anyio
import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, ToolOutput
from pydantic_ai.exceptions import ModelContextWindowExceededError, ModelUnavailableError
from pydantic_ai.messages import ModelRequest, ModelResponse, PartDeltaEvent, PartEndEvent, PartStartEvent, ToolCallPart
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.tools import ToolDefinition

from ohm_local_model.engine import BATCH_TOKENS, Engine
from ohm_local_model.model import GgufModel
from ohm_local_model.transcript import ChatMessage

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic_ai.messages import ModelMessage

pytestmark = [pytest.mark.anyio, pytest.mark.real_model]

STORY: list[ModelMessage] = [ModelRequest.user_text_prompt("Tell me a long story about a fox.")]
TEXT = ModelRequestParameters()


class City(BaseModel):
    name: str
    country: str


class Search(BaseModel):
    pattern: str
    mode: Literal["files", "lines"]
    limit: int


SEARCH = ToolDefinition(name="search", description="Search.", parameters_json_schema=Search.model_json_schema())
LIST = ToolDefinition(name="list", description="List.", parameters_json_schema={"type": "object", "properties": {}})


def generating() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("gguf")]


@pytest.mark.slow
async def test_an_answer_arrives_in_pieces_and_in_order(model: GgufModel) -> None:
    async with model.request_stream(STORY, {"max_tokens": 24}, TEXT) as stream:
        events = [event async for event in stream]
    kinds = [type(event) for event in events]
    assert kinds[0] is PartStartEvent
    assert kinds[-1] is PartEndEvent
    assert kinds.count(PartDeltaEvent) >= 10
    response = stream.get()
    assert (response.state, response.finish_reason, response.usage.output_tokens) == ("complete", "length", 24)
    assert response.text is not None


@pytest.mark.slow
async def test_the_first_piece_is_there_before_the_last_is_made(model: GgufModel) -> None:
    async with model.request_stream(STORY, {"max_tokens": 200}, TEXT) as stream:
        _ = await anext(aiter(stream))
        assert stream.usage.output_tokens < 200
        assert generating() != []
    assert generating() == []


@pytest.mark.parametrize(
    "ask",
    ["Search for 'proxy' in files.", pytest.param("List the lines with TODO, at most five.", marks=pytest.mark.slow)],
)
@pytest.mark.slow
async def test_arguments_of_a_tool_fit_its_schema(model: GgufModel, ask: str) -> None:
    offered = ModelRequestParameters(function_tools=[SEARCH], allow_text_output=False)
    response = await model.request([ModelRequest.user_text_prompt(ask)], None, offered)
    [call] = response.parts
    assert isinstance(call, ToolCallPart)
    assert (call.tool_name, response.finish_reason) == ("search", "tool_call")
    assert Search.model_validate_json(call.args_as_json_str(), strict=True).mode in {"files", "lines"}


@pytest.mark.slow
async def test_a_tool_that_may_be_chosen_is_one_of_those_offered(model: GgufModel) -> None:
    offered = ModelRequestParameters(function_tools=[SEARCH, LIST], allow_text_output=False)
    response = await model.request([ModelRequest.user_text_prompt("List everything.")], None, offered)
    [call] = response.tool_calls
    assert call.tool_name in {"search", "list"}


@pytest.mark.slow
async def test_tool_choice_none_gives_text(model: GgufModel) -> None:
    offered = ModelRequestParameters(function_tools=[SEARCH])
    response = await model.request(
        [ModelRequest.user_text_prompt("Search.")], {"tool_choice": "none", "max_tokens": 8}, offered
    )
    assert response.tool_calls == []
    assert response.text


@pytest.mark.slow
async def test_a_structured_answer_is_the_expected_object(model: GgufModel) -> None:
    result = await Agent(model, output_type=City).run("I live in Berlin, in Germany.")
    assert result.output == City(name="Berlin", country="Germany")


@pytest.mark.slow
async def test_an_output_tool_gives_an_object_too(model: GgufModel) -> None:
    result = await Agent(model, output_type=ToolOutput(City)).run("I live in Berlin, in Germany.")
    assert isinstance(result.output, City)


@pytest.mark.slow
async def test_a_run_calls_tools_and_is_made_to_answer(engine: Engine) -> None:
    calls: list[Search] = []
    agent = Agent(GgufModel(engine, max_calls=2), instructions="You find things in a code base.")

    @agent.tool_plain
    def search(pattern: str, mode: Literal["files", "lines"], limit: int) -> str:
        """Search file contents."""
        calls.append(Search(pattern=pattern, mode=mode, limit=limit))
        return f"src/net/pool.py:{len(calls)}: {pattern} = 3"

    result = await agent.run("Where is max_retries set?", model_settings={"max_tokens": 40})
    assert 1 <= len(calls) <= 2
    assert result.output
    steps = [message.usage for message in result.all_messages() if isinstance(message, ModelResponse)]
    assert len(steps) == len(calls) + 1
    assert all(step.input_tokens > step.cache_read_tokens and step.output_tokens > 0 for step in steps)
    assert result.usage.input_tokens == sum(step.input_tokens for step in steps)
    assert result.usage.output_tokens == sum(step.output_tokens for step in steps)


@pytest.mark.slow
async def test_the_same_run_twice_gives_the_same_text(model: GgufModel) -> None:
    agent = Agent(model, instructions="You tell stories.")
    first = await agent.run("A story about a fox.", model_settings={"max_tokens": 40})
    _ = await agent.run("A story about a hen.", model_settings={"max_tokens": 4})
    again = await agent.run("A story about a fox.", model_settings={"max_tokens": 40})
    assert again.output == first.output


@pytest.mark.slow
async def test_more_runs_than_slots_all_finish(model: GgufModel) -> None:
    answers: list[ModelResponse] = []

    async def ask(topic: str) -> None:
        answers.append(await model.request([ModelRequest.user_text_prompt(topic)], {"max_tokens": 12}, TEXT))

    async with anyio.create_task_group() as group:
        for topic in ("Tell me about rivers.", "Tell me about trees.", "Tell me about birds."):
            group.start_soon(ask, topic)
    assert [answer.usage.output_tokens for answer in answers] == [12, 12, 12]


@pytest.mark.slow
async def test_a_cancelled_answer_stops_and_the_engine_works_again(model: GgufModel) -> None:
    streams: list[StreamedResponse] = []
    with anyio.CancelScope() as scope:
        async with model.request_stream(STORY, {"max_tokens": 1000}, TEXT) as stream:
            streams.append(stream)
            async for event in stream:
                if isinstance(event, PartDeltaEvent):
                    scope.cancel()
    assert scope.cancelled_caught
    assert generating() == []
    assert 0 < streams[0].usage.output_tokens < 100
    assert (await model.request(STORY, {"max_tokens": 3}, TEXT)).usage.output_tokens == 3


@pytest.mark.slow
async def test_a_stream_can_be_cancelled_by_its_own_method(model: GgufModel) -> None:
    async with model.request_stream(STORY, {"max_tokens": 1000}, TEXT) as stream:
        async for event in stream:
            if isinstance(event, PartDeltaEvent):
                await stream.cancel()
    assert stream.get().state == "interrupted"


@pytest.mark.slow
async def test_a_long_prompt_is_cancelled_before_it_is_read(engine: Engine) -> None:
    words = " ".join(f"word{number}" for number in range(800))
    async with engine.turn(afresh=True) as turn:
        generation = await turn.generate([ChatMessage("user", words)], {"max_tokens": 5})
    assert generating() == []
    assert generation.usage.input_tokens <= 4 * BATCH_TOKENS


async def test_a_run_that_waits_for_a_slot_can_be_cancelled(engine: Engine) -> None:
    async with engine.turn(afresh=True), engine.turn(afresh=True):
        with anyio.move_on_after(0) as scope:
            async with engine.turn(afresh=True):
                pytest.fail("there are two slots")
        assert scope.cancelled_caught
    async with engine.turn(afresh=True), engine.turn(afresh=True):
        pass


async def test_a_prompt_that_is_too_long_is_a_typed_error(model: GgufModel) -> None:
    with pytest.raises(ModelContextWindowExceededError, match=r"has \d+ tokens, and .*\.gguf takes 8192 in a run\."):
        _ = await model.request([ModelRequest.user_text_prompt("hi " * 9000)], None, TEXT)


@pytest.fixture
def damaged(tmp_path: Path, gguf: Path) -> Path:
    path = tmp_path / "damaged.gguf"
    with gguf.open("rb") as whole:
        path.write_bytes(whole.read(4096))
    return path


async def test_a_damaged_file_is_a_typed_error(damaged: Path) -> None:
    with pytest.raises(ModelUnavailableError, match=r"damaged\.gguf could not be loaded"):
        _ = await GgufModel(Engine(path=damaged)).request(STORY, None, TEXT)
    assert generating() == []


@pytest.mark.slow
async def test_the_file_is_unloaded_when_its_last_model_is_left(gguf: Path) -> None:
    engine = Engine(path=gguf, context_tokens=256)
    loaded: list[bool] = []
    async with GgufModel(engine) as one:
        async with GgufModel(engine) as other:
            loaded.append(engine.is_loaded)
            _ = await other.request(STORY, {"max_tokens": 1}, TEXT)
        loaded.append(engine.is_loaded)
        _ = await one.request(STORY, {"max_tokens": 1}, TEXT)
    loaded.append(engine.is_loaded)
    assert loaded == [False, True, False]


async def test_the_loopback_port_wants_a_key(engine: Engine, model: GgufModel) -> None:
    _ = await model.request(STORY, {"max_tokens": 1}, TEXT)
    address = engine.server().listening_address
    assert address.startswith("http://127.0.0.1:")
    with pytest.raises(HTTPError) as refused:
        await anyio.to_thread.run_sync(urlopen, f"{address}/v1/models")
    refused.value.close()
    assert refused.value.code == 401
