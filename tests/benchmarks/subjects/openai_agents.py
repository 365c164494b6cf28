# /// script
# dependencies = ["openai-agents"]
# ///
"""openai-agents: an agent as the tool of another."""

import asyncio
import json
from contextlib import asynccontextmanager

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, set_tracing_disabled
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from stopwatch import CALLS, repeating

set_tracing_disabled(disabled=True)


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

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError

    def _delegations(self):
        arguments = json.dumps({"input": "Do it."})
        return [
            ResponseFunctionToolCall(type="function_call", call_id=f"c{n}", name="delegate", arguments=arguments)
            for n in range(self._calls)
        ]


def _message():
    text = ResponseOutputText(type="output_text", text="done", annotations=[])
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])


def _parent(child, calls=1):
    tool = child.as_tool("delegate", "Does it.")
    return Agent(name="parent", model=Fake(calls=calls), tools=[tool])


async def _run(agent):
    result = await Runner.run(agent, "Do it.", run_config=RunConfig(tracing_disabled=True))
    assert result.final_output == "done"


@asynccontextmanager
async def call():
    child = Agent(name="child", instructions="Do what you are asked.", model=Fake())
    yield repeating(lambda: _run(child), CALLS)


@asynccontextmanager
async def turn():
    parent = _parent(Agent(name="child", instructions="Do what you are asked.", model=Fake()))
    yield repeating(lambda: _run(parent), CALLS)


@asynccontextmanager
async def fan_out(count=100, delay_s=0.1):
    parent = _parent(Agent(name="child", instructions="Do it.", model=Fake(delay_s=delay_s)), calls=count)
    yield repeating(lambda: _run(parent))
