"""The promises of the adapter for pydantic-ai besides the contract of every door."""

import anyio
import pytest
from door_contract import USED, start
from pydantic_ai import Agent
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import UsageLimits

from ohm_subagents.adapters.pydantic_ai import toolset
from ohm_subagents.testing import ScriptedBackend, Step, quick_ohm

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


async def test_a_subagent_may_inherit_the_model_of_the_agent():
    backend = ScriptedBackend(default=Step(text="done"))
    call = ToolCallPart("task", {**start("a"), "model": "inherit"})
    async with quick_ohm(backend=backend, config={"subagents": {"models": {"fast": "acme/small"}}}) as ohm:
        model = calling(lambda _info: [call])
        await Agent(model, toolsets=[toolset(ohm)]).run("Go.")
    assert f"{backend.calls[0].model}" == f"{model.system}/{model.model_name}"


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


def heard(messages):
    """Return the texts of what was said to the model beside its first prompt."""
    parts = [part for message in messages if message.kind == "request" for part in message.parts]
    return [part.content for part in parts if part.part_kind == "user-prompt"][1:]


ASYNC = {"suites": ["task"], "subagents": {"asyncStart": "allow"}}


async def test_what_ends_in_the_background_is_a_message_of_the_next_request_once():
    gates, seen = {"a": anyio.Event(), "b": anyio.Event()}, []

    async def opened(gate):
        gate.set()
        await anyio.wait_all_tasks_blocked()
        return "opened"

    async with quick_ohm(Step(text="A", gate=gates["a"]), Step(text="B", gate=gates["b"]), config=ASYNC) as ohm:
        agent = Agent(
            calling(
                lambda info: seen.extend(described(info)) or background("a", "b"),
                lambda _: [ToolCallPart("let_end", {"name": "a"})],
                lambda _: [ToolCallPart("let_end", {"name": "b"})],
                lambda _: [ToolCallPart("task", {"op": "status", "ids": ["task_1", "task_2"]})],
            ),
            toolsets=[toolset(ohm)],
        )

        @agent.tool_plain
        async def let_end(name: str) -> str:
            return await opened(gates[name])

        first = await agent.run("Go.")
        again = await agent.run("And now?", message_history=first.all_messages())

    arrival = "What ends in the background comes as a message at your next turn"
    assert arrival in seen[0]
    replies = [part for one in first.all_messages() for part in one.parts if isinstance(part, ToolReturnPart)]
    assert [arrival in f"{part.content}" for part in replies if part.tool_name == "task"] == [True, True, False]
    told = heard(first.all_messages())
    assert [text.count("<task_output") for text in told] == [1, 1]
    assert told[0].splitlines()[2].startswith("task task_1 (finder · find a) succeeded")
    assert heard(again.all_messages()) == [*told, "And now?"]


def described(info):
    return [tool.description for tool in info.function_tools if tool.name == "task"]


def background(*prompts):
    return [ToolCallPart("task", start(one, **{"async": True}), tool_call_id=one) for one in prompts]
