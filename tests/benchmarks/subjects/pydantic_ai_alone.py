"""pydantic-ai without Ohm."""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

from fake_model import answering, delegating
from pydantic_ai import Agent, RunContext
from stopwatch import peak, repeating

INSTRUCTIONS = "Do what you are asked."


async def drain(_ctx, events):
    async for _ in events:
        pass


def reading():
    """The five reading tools of a subagent, and where they read."""
    from ohm_subagents._backends.in_process.tools import child_toolset, child_workspace

    names = ("read", "grep", "find", "ls", "code_search")
    return {"toolsets": [child_toolset(names)], "workspace": child_workspace(Path.cwd(), names)}  # given to each run


@asynccontextmanager
async def call(streaming=True, tools=False):
    """Seconds for one `agent.run`; the agent is made once."""
    agent = Agent(answering(), instructions=INSTRUCTIONS)
    handler, equipment = drain if streaming else None, reading() if tools else {}

    async def work():
        assert (await agent.run("Do it.", event_stream_handler=handler, **equipment)).output == "done"

    yield repeating(work, 50)


@asynccontextmanager
async def turn():
    """Seconds for one turn of an agent whose tool runs another agent."""
    child = Agent(answering(), instructions=INSTRUCTIONS)
    parent = Agent(delegating("delegate", {"prompt": "Do it."}))

    @parent.tool
    async def delegate(ctx: RunContext[None], prompt: str) -> str:
        return (await child.run(prompt, usage=ctx.usage)).output

    async def work():
        assert (await parent.run("Delegate.")).output == "done"

    yield repeating(work, 50)


@asynccontextmanager
async def fan_out(count=100, delay_s=0.1, streaming=True):
    """Seconds for `asyncio.gather` of runs whose models all wait."""
    agent = Agent(answering(delay_s=delay_s), instructions=INSTRUCTIONS)
    handler = drain if streaming else None

    async def work():
        await asyncio.gather(*(agent.run("Do it.", event_stream_handler=handler) for _ in range(count)))

    yield repeating(work)


@asynccontextmanager
async def model_stream(count):
    """Seconds for one piece of text that a model streams."""
    agent = Agent(answering(pieces=[f"{n:>19} " for n in range(count)]), instructions=INSTRUCTIONS)

    async def work():
        await agent.run("Do it.", event_stream_handler=drain)

    yield repeating(work, parts=count)


@asynccontextmanager
async def queue(count=1000, at_once=16):
    """Peak bytes for one of `count` runs behind a semaphore."""
    agent = Agent(answering(delay_s=0.001), instructions=INSTRUCTIONS)
    await agent.run("Do it.")

    async def one(slots):
        async with slots:
            return await agent.run("Do it.")

    async def work():
        slots = asyncio.Semaphore(at_once)
        with peak() as traced:
            await asyncio.gather(*(one(slots) for _ in range(count)))
        return traced.bytes / count

    yield work
