"""Subagents for agents of strands."""

from __future__ import annotations

import asyncio  # noqa: TID251  strands runs on it, and no task group may be open across the `yield` of a tool
import math
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from ohm_subagents.adapters._calls import call_tool, installed
from ohm_subagents.suite import ToolResult

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
    from typing import Unpack

    from strands import Agent
    from strands.types.tools import AgentTool, ToolSpec, ToolUse

    from ohm_subagents import CallOptions, Ohm
    from ohm_subagents.adapters._calls import Called
    from ohm_subagents.suite import OnUpdate, Tool

__all__ = ["tools"]


def tools(ohm: Ohm, **options: Unpack[CallOptions]) -> list[AgentTool]:
    """Return the tools of `ohm` for `Agent(tools=...)`.

    The model reads the text of a result; one that is an error has the status `error`. Progress frames are the stream
    events `{"text", "details"}` of the tool. Usage is added to the metrics of the agent. A run that is cancelled
    cancels what its calls have started. `options` are those of `Ohm.begin`, for every call.
    """
    with installed("strands-agents"):
        from strands.types.tools import AgentTool

    class OhmTool(AgentTool):
        """A tool of an `Ohm`."""

        def __init__(self, tool: Tool) -> None:
            super().__init__()
            self._tool = tool

        @property
        def tool_name(self) -> str:
            return self._tool.name

        @property
        def tool_spec(self) -> ToolSpec:
            schema: dict[str, object] = {"json": dict(self._tool.input_schema)}
            return {"name": self._tool.name, "description": self._tool.description, "inputSchema": schema}

        @property
        def tool_type(self) -> str:
            return "python"

        def stream(
            self, tool_use: ToolUse, invocation_state: Mapping[str, Agent], **_options: object
        ) -> AsyncGenerator[dict[str, object]]:
            call = partial(call_tool, ohm, self._tool.name, tool_use["input"], **options)
            return _stream(call, tool_use["toolUseId"], invocation_state.get("agent"))

    return [OhmTool(tool) for tool in ohm.tools.values()]


async def _stream(
    call_tool: Callable[[OnUpdate], Coroutine[Any, Any, Called]], call_id: str, agent: Agent | None
) -> AsyncGenerator[dict[str, object]]:
    """Yield the progress frames of a call, and last its result."""
    frames, shown = anyio.create_memory_object_stream[ToolResult](math.inf)
    call = asyncio.ensure_future(call_tool(frames.send_nowait))
    call.add_done_callback(lambda _: frames.close())
    try:
        with shown:
            async for frame in shown:
                yield {"text": frame.text, "details": frame.details}
        called = await call
    finally:
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call
    used = called.usage
    if agent is not None:
        tokens = {"inputTokens": used.input_tokens, "outputTokens": used.output_tokens}
        agent.event_loop_metrics.update_usage({**tokens, "totalTokens": used.input_tokens + used.output_tokens})
    status = "error" if called.result.is_error else "success"
    yield {"toolUseId": call_id, "status": status, "content": [{"text": called.result.text}]}
