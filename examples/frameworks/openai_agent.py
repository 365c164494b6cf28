"""An agent of openai-agents gets the tools of an `Ohm`."""

import anyio
from agents import Agent, Runner

from ohm_subagents import Ohm
from ohm_subagents.adapters.openai_agents import tools


async def main(model: str = "gpt-5") -> None:
    async with Ohm.open() as ohm:
        agent = Agent(name="parent", model=model, tools=tools(ohm))
        result = await Runner.run(agent, "Find out how login works.")
        print(result.final_output)


if __name__ == "__main__":
    anyio.run(main)
