"""Give a subagent a Python function as a tool, and get an object of your own type back."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
from pydantic import BaseModel

from ohm_subagents import Err, Ohm, Ok, tool
from ohm_subagents.plugin import (
    Backend,
    BackendSpec,
    Capability,
    Finalized,
    OhmError,
    Options,
    Result,
    RunOutput,
    RunRequest,
    Sink,
    ToolCall,
    hookimpl,
)


@tool
async def price(item: str, amount: int = 1) -> float:
    """Return the price of an item, in euros."""
    return {"tea": 4.5, "cake": 3.0}[item] * amount


class Bill(BaseModel):
    items: list[str]
    total: float


class Clerk:
    """Stands in for a model, which would read the description of the tool and the schema of the answer."""

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        tools = {each.name: each for each in request.child_tools}
        asked = await tools["price"].execute(ToolCall(arguments={"item": "tea", "amount": 2}))
        sink.emit(Finalized(status="SUCCESS", result=f'{{"items": ["tea"], "total": {asked.text}}}'))
        return Ok(RunOutput(text="Done."))

    @hookimpl
    def ohm_backends(self) -> list[BackendSpec]:
        @asynccontextmanager
        async def opened(_options: Options) -> AsyncGenerator[Backend]:
            yield self

        able = frozenset({Capability.CHILD_TOOLS})
        return [BackendSpec(id="clerk", summary="A clerk.", options=Options, open=opened, capabilities=able)]


async def main() -> None:
    async with Ohm.open(config={"subagentBackend": "clerk"}, plugins=[Clerk()]) as ohm:
        match await ohm.run("finder", "Two teas, please.", tools=[price], result_type=Bill):
            case Ok(envelope):
                print(envelope.data.total if envelope.data else "nothing")
            case Err(error):
                print(error)


anyio.run(main)

# Prints:
# 9.0
