# /// script
# dependencies = ["langchain", "deepagents"]
# ///
"""LangChain: `create_agent` with our tools, on a model of our own."""

from door_contract import Delegated
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from ohm_subagents.adapters.langchain import tools


class Scripted(BaseChatModel):
    """Calls the tool once, then ends."""

    call: dict

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        is_answered = isinstance(messages[-1], ToolMessage)
        message = AIMessage("done") if is_answered else AIMessage("", tool_calls=[self.call])
        return ChatResult(generations=[ChatGeneration(message=message)])


async def delegate(ohm, tool, arguments, **options):
    agent = create_agent(Scripted(call={"name": tool, "args": arguments, "id": "c1"}), tools=tools(ohm, **options))
    frames, answered = [], None
    async for mode, chunk in agent.astream(
        {"messages": [{"role": "user", "content": "Go."}]}, stream_mode=["custom", "values"]
    ):
        if mode == "custom":
            frames.append(chunk["text"])
        elif isinstance(chunk["messages"][-1], ToolMessage):
            answered = chunk["messages"][-1]
    return Delegated(answered.content, answered.status == "error", answered.artifact, frames)
