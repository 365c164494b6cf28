# /// script
# dependencies = ["deepagents"]
# ///
"""deepagents: a subagent behind its `task` tool."""

import asyncio
from contextlib import asynccontextmanager

from deepagents import create_deep_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from stopwatch import BATCHES, CALLS, repeating

CALL = {"name": "task", "args": {"description": "Do it.", "subagent_type": "worker"}, "type": "tool_call"}


class Fake(BaseChatModel):
    """Answers after `delay_s`; with `calls`, first calls the tool `task` that often in one response."""

    calls: int = 0
    delay_s: float = 0.0

    @property
    def _llm_type(self):
        return "fake"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        if self.calls and not any(isinstance(message, ToolMessage) for message in messages):
            calls = [{**CALL, "id": f"c{n}"} for n in range(self.calls)]
            answer = AIMessage(content="", tool_calls=calls)
        else:
            answer = AIMessage(content="all is well")
        return ChatResult(generations=[ChatGeneration(message=answer)])

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        return self._generate(messages)


def _agent(*, calls=0, delay_s=0.0):
    worker = {
        "name": "worker",
        "description": "Works.",
        "system_prompt": "Do what you are asked.",
        "model": Fake(delay_s=delay_s),
    }
    return create_deep_agent(model=Fake(calls=calls), subagents=[worker])


async def _run(agent):
    state = await agent.ainvoke({"messages": [{"role": "user", "content": "Do it."}]})
    assert state["messages"][-1].content == "all is well"


@asynccontextmanager
async def call():
    agent = _agent()
    yield repeating(lambda: _run(agent), CALLS)


@asynccontextmanager
async def turn():
    agent = _agent(calls=1)
    yield repeating(lambda: _run(agent), CALLS)


@asynccontextmanager
async def fan_out(count=100, delay_s=0.1):
    agent = _agent(calls=count, delay_s=delay_s)
    yield repeating(lambda: _run(agent), BATCHES)
