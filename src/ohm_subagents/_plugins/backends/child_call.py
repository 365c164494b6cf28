"""A call of a child tool, for every backend that gives a subagent the tools of its request."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ohm_subagents._plugins.suites.tool import ToolCall, ToolResult
from ohm_subagents.contract.events import ToolUpdated
from ohm_subagents.contract.text import encodable

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ohm_subagents._plugins.backends.sink import Sink
    from ohm_subagents._plugins.suites.tool import Tool


async def call_child_tool(tool: Tool, arguments: JsonValue, *, call_id: str, sink: Sink) -> ToolResult:
    """Carry out a call of a tool of `RunRequest.child_tools`; return its result, whose text can be encoded.

    Its progress is emitted as `ToolUpdated`. What it raises costs the call and not the run: it is an error result.
    """

    def on_update(frame: ToolResult) -> None:
        sink.emit(ToolUpdated(call_id=call_id, tool=tool.name, text=frame.text))

    try:
        result = await tool.execute(ToolCall(arguments=arguments, on_update=on_update))
    except Exception as error:  # noqa: BLE001  whatever a tool raises is told to the model
        result = ToolResult(text=f"{type(error).__name__}: {error}", details={}, is_error=True)
    return replace(result, text=encodable(result.text))
