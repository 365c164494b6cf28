"""Subagents for agents of LangChain, LangGraph and deepagents."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ohm_subagents.adapters._calls import call_tool, described, installed
from ohm_subagents.contract import Err, Ok

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Unpack

    from deepagents import CompiledSubAgent
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.messages import BaseMessage
    from langchain_core.tools import StructuredTool

    from ohm_subagents import CallOptions, Mailbox, Ohm
    from ohm_subagents.suite import OnUpdate, ToolResult

__all__ = ["arrivals", "subagents", "tools"]


def tools(ohm: Ohm, *, mailbox: Mailbox | None = None, **options: Unpack[CallOptions]) -> list[StructuredTool]:
    """Return the tools of `ohm` for `create_agent(tools=...)` and any other graph; they are asynchronous.

    The model reads the text of a result; `details` are the `artifact` of its message. A result that is an error is a
    message with the status `error`. Progress frames are chunks `{"tool", "text", "details"}` of `stream_mode="custom"`.
    A run that is cancelled cancels what its calls have started. `options` are those of `Ohm.begin`, for every call.
    With a `mailbox` (`Ohm.mailbox`) results of background tasks come by `arrivals`.
    """
    with installed("langchain-core"):
        from langchain_core.tools import StructuredTool, ToolException

    def calling(name: str) -> Callable[..., Awaitable[tuple[str, object]]]:
        async def call(**arguments: object) -> tuple[str, object]:  # LangChain evaluates what stands here
            result = (await call_tool(ohm, name, arguments, _stream(name), mailbox=mailbox, **options)).result
            if result.is_error:
                raise ToolException(result.text)
            return result.text, result.details

        return call

    return [
        StructuredTool(
            name=name,
            description=described(ohm, tool, mailbox),
            args_schema=dict(tool.input_schema),
            coroutine=calling(name),
            response_format="content_and_artifact",
            handle_tool_error=True,
        )
        for name, tool in ohm.tools.items()
    ]


def arrivals(mailbox: Mailbox) -> AgentMiddleware[Any, Any]:
    """Return the middleware for `create_agent(middleware=[...])` that tells what has ended in the background.

    It is a message of the conversation before the next request of the model, once for each task of the tools that have
    the same `mailbox`.
    """
    with installed("langchain"):
        from langchain.agents.middleware import AgentMiddleware
        from langchain_core.messages import HumanMessage

    class Arrivals(AgentMiddleware[Any, Any]):
        async def abefore_model(self, state: object, runtime: object) -> dict[str, object] | None:
            del state, runtime
            message = await mailbox.message()
            return {"messages": [HumanMessage(message)]} if message else None

    return Arrivals()


def subagents(ohm: Ohm, **options: Unpack[CallOptions]) -> list[CompiledSubAgent]:
    """Return the profiles of `ohm` for `create_deep_agent(subagents=...)`, whose own `task` tool then runs them.

    The answer, or why there is none, is a message with its usage; the data of a profile with a schema are the
    `structured_response`. `options` are those of `Ohm.run`, for every task.
    """
    with installed("deepagents"):
        from deepagents import CompiledSubAgent
        from langchain_core.messages import AIMessage
        from langchain_core.messages.ai import UsageMetadata
        from langchain_core.runnables import RunnableLambda

    async def run(profile: str, state: Mapping[str, list[BaseMessage]]) -> dict[str, object]:
        match await ohm.run(profile, state["messages"][-1].text, **options):
            case Ok(envelope):
                usage, spent = envelope.usage, None
                if usage is not None:
                    used = usage.tree or usage
                    total = used.input_tokens + used.output_tokens
                    spent = UsageMetadata(
                        input_tokens=used.input_tokens, output_tokens=used.output_tokens, total_tokens=total
                    )
                answer = AIMessage(envelope.output or "", usage_metadata=spent)
                return {"messages": [answer], "structured_response": envelope.data}
            case Err(error):
                return {"messages": [AIMessage(f"{error}")]}

    return [
        CompiledSubAgent(
            name=profile.id, description=profile.summary, runnable=RunnableLambda(partial(run, profile.id))
        )
        for profile in ohm.profiles
    ]


def _stream(name: str) -> OnUpdate | None:
    """Return what writes progress frames to the stream of the graph; None outside of one."""
    try:
        from langgraph.config import get_stream_writer

        write = get_stream_writer()
    except (ImportError, RuntimeError, KeyError):
        return None

    def show(frame: ToolResult) -> None:
        write({"tool": name, "text": frame.text, "details": frame.details})

    return show
