# /// script
# dependencies = ["strands-agents"]
# ///
"""strands: agents as tools."""

import asyncio
import json
from contextlib import asynccontextmanager

from stopwatch import BATCHES, CALLS, repeating
from strands import Agent, tool
from strands.models import Model

PIECES = ("all ", "is ", "well")


class Fake(Model):
    """Answers after `delay_s`; with `calls`, first calls the tool `delegate` that often in one response."""

    def __init__(self, *, calls=0, delay_s=0.0):
        self._calls = calls
        self._delay_s = delay_s

    def update_config(self, **model_config):
        pass

    def get_config(self):
        return {}

    def structured_output(self, output_model, prompt, system_prompt=None, **kwargs):
        raise NotImplementedError

    async def stream(self, messages, *args, **kwargs):
        if self._delay_s:
            await asyncio.sleep(self._delay_s)
        yield {"messageStart": {"role": "assistant"}}
        if self._calls and not any("toolResult" in block for block in messages[-1]["content"]):
            for n in range(self._calls):
                yield {"contentBlockStart": {"start": {"toolUse": {"name": "delegate", "toolUseId": f"c{n}"}}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps({"prompt": "Do it."})}}}}
                yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use"}}
            return
        yield {"contentBlockStart": {"start": {}}}
        for piece in PIECES:
            yield {"contentBlockDelta": {"delta": {"text": piece}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


def _child(delay_s=0.0):
    return Agent(model=Fake(delay_s=delay_s), system_prompt="Do what you are asked.", callback_handler=None)


async def _run(agent):
    agent.messages.clear()
    result = await agent.invoke_async("Do it.")
    assert str(result).strip() == "".join(PIECES)


def _parent(calls=1, delay_s=0.0):
    @tool
    async def delegate(prompt: str) -> str:
        """Do it."""
        return str(await _child(delay_s).invoke_async(prompt))

    return Agent(model=Fake(calls=calls), tools=[delegate], callback_handler=None)


@asynccontextmanager
async def call():
    child = _child()
    yield repeating(lambda: _run(child), CALLS)


@asynccontextmanager
async def turn():
    parent = _parent()
    yield repeating(lambda: _run(parent), CALLS)


@asynccontextmanager
async def fan_out(count=100, delay_s=0.1):
    parent = _parent(count, delay_s)
    yield repeating(lambda: _run(parent), BATCHES)
