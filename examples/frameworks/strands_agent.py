"""An agent of strands gets the tools of an `Ohm`."""

import anyio
from strands import Agent
from strands.models import Model

from ohm_subagents import Ohm
from ohm_subagents.adapters.strands import tools


async def main(model: Model | None = None) -> None:
    async with Ohm.open() as ohm:
        agent = Agent(model=model, tools=tools(ohm), callback_handler=None)
        print(await agent.invoke_async("Find out how login works."))


if __name__ == "__main__":
    anyio.run(main)
