"""A deep agent whose `task` tool runs our profiles: prints what its model read, as JSON. Needs no pytest."""

import json
import sys

import anyio
from deepagents import create_deep_agent
from door_contract import REFUSED, USED, loaded
from langchain_core.messages import HumanMessage, ToolMessage

from ohm_subagents.adapters.langchain import subagents
from ohm_subagents.testing import Step, quick_ohm


async def main():
    asked = {"name": "task", "args": {"description": "Where is it?", "subagent_type": "finder"}, "id": "c1"}
    answer = Step(text="It is here.", events=(USED,))
    read = []
    async with quick_ohm(answer, Step(error=REFUSED), answer) as ohm:
        offered = subagents(ohm)
        for _ in range(2):
            agent = create_deep_agent(loaded("langchain").Scripted(call=asked), subagents=offered)
            state = await agent.ainvoke({"messages": [HumanMessage("Go.")]})
            read += [message.content for message in state["messages"] if isinstance(message, ToolMessage)]
        finder = next(one["runnable"] for one in offered if one["name"] == "finder")
        state = await finder.ainvoke({"messages": [HumanMessage("Where is it?")]})
        kept = [task.assignment.prompt for task in ohm.store.recent()]
    names = sorted(one["name"] for one in offered)
    return {"read": read, "asked": kept, "usage": state["messages"][-1].usage_metadata, "names": names}


sys.stdout.write(json.dumps(anyio.run(main)))
