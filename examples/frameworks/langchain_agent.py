"""An agent of LangChain gets the tools of an `Ohm`."""

import anyio
from langchain.agents import create_agent

from ohm_subagents import Ohm
from ohm_subagents.adapters.langchain import tools


async def main(model: str = "openai:gpt-5") -> None:
    async with Ohm.open() as ohm:
        agent = create_agent(model, tools=tools(ohm))
        state = await agent.ainvoke({"messages": [{"role": "user", "content": "Find out how login works."}]})
        print(state["messages"][-1].content)


if __name__ == "__main__":
    anyio.run(main)
