"""pydantic-ai without Ohm."""

import asyncio
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from time import perf_counter

from fake_model import PIECES, Held, answering, delegating
from pydantic_ai import Agent, RunContext
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelRequest, UserPromptPart
from stopwatch import BATCHES, CALLS, peak, percentile_99, repeating

INSTRUCTIONS = "Do what you are asked."


async def drain(_ctx, events):
    async for _ in events:
        pass


async def streamed(agent, prompt, **equipment):
    """A run whose model is heard as it speaks."""
    async with agent.iter(prompt, **equipment) as run:
        async for node in run:
            if Agent.is_model_request_node(node):
                async with node.stream(run.ctx) as events:
                    async for _ in events:
                        pass
    return run.result.output


def reading():
    """The five reading tools of a subagent, and where they read."""
    from ohm_subagents.backends.in_process.toolset import child_toolset, child_workspace

    names = ("read", "grep", "find", "ls", "code_search")
    return {"toolsets": [child_toolset(names)], "workspace": child_workspace(Path.cwd(), names)}  # given to each run


@asynccontextmanager
async def call(way="iter", tools=False):
    """Seconds for one run of an agent that was made once, by its way to stream, or not."""
    agent = Agent(answering(), instructions=INSTRUCTIONS)
    equipment = reading() if tools else {}

    async def work():
        if way == "iter":
            output = await streamed(agent, "Do it.", **equipment)
        else:
            handler = drain if way == "handler" else None
            output = (await agent.run("Do it.", event_stream_handler=handler, **equipment)).output
        assert output == "".join(PIECES)

    yield repeating(work, CALLS)


@asynccontextmanager
async def direct():
    """Seconds for one streamed request to the model, with nothing of an agent."""
    model = answering()
    request = ModelRequest(parts=[UserPromptPart("Do it.")], instructions=INSTRUCTIONS)

    async def work():
        async with model_request_stream(model, [request]) as answer:
            async for _ in answer:
                pass
        assert answer.get().text == "".join(PIECES)

    yield repeating(work, CALLS)


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

    yield repeating(work, CALLS)


@asynccontextmanager
async def fan_out(count=100, delay_s=0.1, streaming=True):
    """Seconds for `asyncio.gather` of runs whose models all wait."""
    agent = Agent(answering(delay_s=delay_s), instructions=INSTRUCTIONS)
    run = partial(streamed, agent) if streaming else agent.run

    async def work():
        await asyncio.gather(*(run("Do it.") for _ in range(count)))

    yield repeating(work, BATCHES)


@asynccontextmanager
async def cancel(count=100):
    """Seconds until the 99th of 100 runs that wait for their model is over, of those cancelled at once."""
    held = Held(count)
    agent = Agent(held.model(), instructions=INSTRUCTIONS)

    async def one(run):
        run.cancel()
        await asyncio.wait([run])
        return perf_counter()

    async def repeat():
        held.begin()
        runs = [asyncio.create_task(streamed(agent, "Do it.")) for _ in range(count)]
        await held.all_asked.wait()
        begun = perf_counter()
        return percentile_99(await asyncio.gather(*map(one, runs))) - begun

    yield repeat


@asynccontextmanager
async def model_stream(count):
    """Seconds for one piece of text that a model streams."""
    agent = Agent(answering(pieces=[f"{n:>19} " for n in range(count)]), instructions=INSTRUCTIONS)

    async def work():
        await streamed(agent, "Do it.")

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
