"""An agent of pydantic-ai, on its test model, gets the tools of an `Ohm`."""

import anyio
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from ohm_subagents import Ohm
from ohm_subagents.adapters.pydantic_ai import toolset


async def main() -> None:
    async with Ohm.open(config={"subagentBackend": "none"}) as ohm:
        agent = Agent(TestModel(call_tools=["librarian"]), toolsets=[toolset(ohm)])
        result = await agent.run("Find out how login works.")
        print("Librarian" in result.output)


anyio.run(main)

# Prints:
# True
