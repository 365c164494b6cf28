"""The `task` tool of a deep agent runs the profiles of an `Ohm`."""

import anyio
from deepagents import create_deep_agent

from ohm_subagents import Ohm
from ohm_subagents.adapters.langchain import subagents


async def main(model: str = "openai:gpt-5") -> None:
    async with Ohm.open() as ohm:
        agent = create_deep_agent(model, subagents=subagents(ohm))
        state = await agent.ainvoke({"messages": [{"role": "user", "content": "Find out how login works."}]})
        print(state["messages"][-1].content)


if __name__ == "__main__":
    anyio.run(main)
