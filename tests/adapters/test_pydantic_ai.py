"""What the adapter for pydantic-ai promises besides the contract of every door."""

import anyio
import pytest
from door_contract import USED, start
from pydantic_ai import Agent
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import UsageLimits

from ohm_subagents.adapters.pydantic_ai import toolset
from ohm_subagents.testing import Step, quick_ohm

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    """pydantic-ai runs on asyncio only."""
    return "asyncio"


def calling(*turns):
    """A model that makes these calls, one turn after another, and then ends; each turn may look at the tools it has."""
    left = list(turns)

    def model(_messages, info):
        parts = left.pop(0)(info) if left else [TextPart("done")]
        return ModelResponse(parts=parts)

    return FunctionModel(model)


def delegate(*prompts):
    return lambda _info: [ToolCallPart("task", start(one), tool_call_id=one) for one in prompts]


async def test_the_limits_of_a_run_hold_for_what_its_subagents_use():
    async with quick_ohm(Step(text="done", events=(USED,))) as ohm:
        agent = Agent(calling(delegate("a")), toolsets=[toolset(ohm)])
        with pytest.raises(UsageLimitExceeded):
            await agent.run("Go.", usage_limits=UsageLimits(request_limit=2))  # the subagent alone has made two


async def test_calls_of_one_turn_run_side_by_side_and_each_is_counted():
    both = anyio.Event()
    steps = (Step(text="A", events=(USED,), gate=both), Step(text="B", events=(USED,), gate=both))
    async with quick_ohm(*steps) as ohm, anyio.create_task_group() as group:
        results = []

        async def run():
            agent = Agent(calling(delegate("a", "b")), toolsets=[toolset(ohm)])
            results.append(await agent.run("Go."))

        group.start_soon(run)
        running = 0
        async for each in ohm.events():
            running += each.event.kind == "usage_added"
            if running == 2:
                both.set()
                break

    assert results[0].usage.requests == 2 + 4


async def test_the_guidance_of_the_tools_is_part_of_the_instructions():
    async with quick_ohm(config={"suites": ["todos"]}) as ohm:
        instructions = []
        agent = Agent(calling(lambda info: instructions.append(info.instructions) or []), toolsets=[toolset(ohm)])
        await agent.run("Go.")

    assert instructions[0].startswith("About your tools:\n- ")


async def test_a_reconfigured_ohm_shows_its_tools_at_the_next_step():
    seen = []

    def look(info):
        seen.append(sorted(tool.name for tool in info.function_tools))
        return [ToolCallPart("task", start("a"))]

    async with quick_ohm(Step(text="done"), Step(text="done"), config={"suites": ["task"]}) as ohm:
        agent = Agent(calling(look, look), toolsets=[toolset(ohm)])
        async with agent.iter("Go.") as run:
            async for node in run:
                if Agent.is_call_tools_node(node) and len(seen) == 1:
                    await ohm.reconfigure(config={"subagentBackend": "scripted", "suites": ["task", "primary"]})

    assert seen == [["task"], ["librarian", "task"]]
