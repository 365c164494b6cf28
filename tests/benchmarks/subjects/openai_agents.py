# /// script
# dependencies = ["openai-agents"]
# ///
"""openai-agents: an agent as the tool of another."""

import asyncio
import json
from contextlib import asynccontextmanager

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, set_tracing_disabled
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
)
from stopwatch import BATCHES, CALLS, repeating

set_tracing_disabled(disabled=True)

PIECES = ("all ", "is ", "well")


class Fake(Model):
    """Answers after `delay_s`; with `calls`, first calls the tool `delegate` that often in one response."""

    def __init__(self, *, calls=0, delay_s=0.0):
        self._calls = calls
        self._delay_s = delay_s

    async def get_response(self, system_instructions, input, *args, **kwargs):
        if self._delay_s:
            await asyncio.sleep(self._delay_s)
        is_answered = not isinstance(input, str) and any(item.get("type") == "function_call_output" for item in input)
        output = self._delegations() if self._calls and not is_answered else [_message()]
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    async def stream_response(self, system_instructions, input, *args, **kwargs):
        whole = await self.get_response(system_instructions, input)
        for at, piece in enumerate(PIECES):
            yield ResponseTextDeltaEvent(
                type="response.output_text.delta",
                item_id="m",
                output_index=0,
                content_index=0,
                delta=piece,
                logprobs=[],
                sequence_number=at,
            )
        response = Response(
            id="r",
            created_at=0,
            model="fake",
            object="response",
            output=whole.output,
            parallel_tool_calls=True,
            tool_choice="auto",
            tools=[],
        )
        yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=len(PIECES))

    def _delegations(self):
        arguments = json.dumps({"input": "Do it."})
        return [
            ResponseFunctionToolCall(type="function_call", call_id=f"c{n}", name="delegate", arguments=arguments)
            for n in range(self._calls)
        ]


def _message():
    text = ResponseOutputText(type="output_text", text="".join(PIECES), annotations=[])
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])


def _parent(child, calls=1):
    tool = child.as_tool("delegate", "Does it.")
    return Agent(name="parent", model=Fake(calls=calls), tools=[tool])


async def _run(agent):
    result = await Runner.run(agent, "Do it.", run_config=RunConfig(tracing_disabled=True))
    assert result.final_output == "".join(PIECES)


async def _streamed(agent):
    result = Runner.run_streamed(agent, "Do it.", run_config=RunConfig(tracing_disabled=True))
    async for _ in result.stream_events():
        pass
    assert result.final_output == "".join(PIECES)


@asynccontextmanager
async def call(streaming=True):
    child = Agent(name="child", instructions="Do what you are asked.", model=Fake())
    run = _streamed if streaming else _run
    yield repeating(lambda: run(child), CALLS)


@asynccontextmanager
async def turn():
    parent = _parent(Agent(name="child", instructions="Do what you are asked.", model=Fake()))
    yield repeating(lambda: _run(parent), CALLS)


@asynccontextmanager
async def fan_out(count=100, delay_s=0.1):
    parent = _parent(Agent(name="child", instructions="Do it.", model=Fake(delay_s=delay_s)), calls=count)
    yield repeating(lambda: _run(parent), BATCHES)
