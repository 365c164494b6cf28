"""News of a background task for a model of LangChain or openai-agents, over three turns of one conversation.

`python arrivals.py langchain|openai_agents`, in an environment with that framework. Prints how many results the model
read in each turn.
"""

import json
import sys

import anyio
from door_contract import loaded, start

from ohm_subagents.testing import quick_ohm

CONFIG = {"suites": ["task"], "subagents": {"asyncStart": "allow"}}
BACKGROUND = start("a", **{"async": True})


async def langchain(ohm):
    from langchain.agents import create_agent

    from ohm_subagents.adapters.langchain import arrivals, tools

    door, mailbox, heard = loaded("langchain"), ohm.mailbox(), []

    class Listening(door.Scripted):
        def _generate(self, messages, *args, **kwargs):
            heard.append(sum("<task_output" in message.text for message in messages if message.type == "human"))
            if len(heard) > 1:
                messages = [*messages, door.ToolMessage("", tool_call_id="x")]
            return super()._generate(messages, *args, **kwargs)

    model = Listening(call={"name": "task", "args": BACKGROUND, "id": "c1"})
    agent = create_agent(model, tools=tools(ohm, mailbox=mailbox), middleware=[arrivals(mailbox)])
    said = []
    for prompt in ("Go.", "And now?", "And then?"):
        said = (await agent.ainvoke({"messages": [*said, {"role": "user", "content": prompt}]}))["messages"]
        await ohm.handle("task_1").wait()
    return heard


async def openai_agents(ohm):
    from agents import Agent, RunConfig, Runner

    from ohm_subagents.adapters.openai_agents import arrivals, tools

    door, mailbox, heard = loaded("openai_agents"), ohm.mailbox(), []

    class Listening(door.Scripted):
        async def get_response(self, system_instructions, input, *args, **kwargs):
            texts = [] if isinstance(input, str) else [one.get("content") for one in input]
            heard.append(sum("<task_output" in text for text in texts if isinstance(text, str)))
            return await super().get_response(system_instructions, input, *args, **kwargs)

    agent = Agent(name="parent", model=Listening("task", BACKGROUND), tools=tools(ohm, mailbox=mailbox))
    config, said = RunConfig(call_model_input_filter=arrivals(mailbox)), []
    for prompt in ("Go.", "And now?", "And then?"):
        result = await Runner.run(agent, [*said, {"role": "user", "content": prompt}], run_config=config)
        said = result.to_input_list()
        await ohm.handle("task_1").wait()
    return heard


async def main(framework):
    async with quick_ohm(config=CONFIG) as ohm:
        sys.stdout.write(json.dumps(await {"langchain": langchain, "openai_agents": openai_agents}[framework](ohm)))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
