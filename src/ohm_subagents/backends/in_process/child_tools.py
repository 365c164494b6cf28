"""Our `Tool`s as pydantic-ai tools. Imports pydantic_ai, so import it late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import BinaryContent
from pydantic_ai.tools import RunContext
from pydantic_ai.tools import Tool as UpstreamTool
from pydantic_core import SchemaValidator, core_schema

from ohm_subagents.backends.in_process.tools.use import refuse_if_closed
from ohm_subagents.plugin import Sink, Tool, ToolCall, ToolResult, ToolUpdated, encodable

if TYPE_CHECKING:
    from pydantic import JsonValue


_AN_OBJECT: Final = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))
"""All that is looked at before a tool is called; arguments that are none would cost the run."""


def offered(tool: Tool, sink: Sink) -> UpstreamTool[object]:
    """`tool`, for the model: it validates its own arguments, reports progress to `sink`, and may fail in words.

    One that raises costs its call and not the run.
    """

    async def execute(ctx: RunContext[object], /, **arguments: JsonValue) -> str | list[str | BinaryContent]:
        def on_update(frame: ToolResult) -> None:
            sink.emit(ToolUpdated(call_id=ctx.tool_call_id or "", tool=tool.name, text=frame.text))

        refuse_if_closed(ctx)
        try:
            result = await tool.execute(ToolCall(arguments=arguments, on_update=on_update))
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            raise ToolFailed(message) from error
        if result.is_error:
            raise ToolFailed(encodable(result.text))
        text = encodable(result.text)
        if not result.images:
            return text
        return [text, *(BinaryContent(data=one.data, media_type=one.media_type) for one in result.images)]

    given = UpstreamTool[object].from_schema(
        execute,
        name=tool.name,
        description=tool.description,
        json_schema=dict(tool.input_schema),
        takes_ctx=True,
    )
    given.function_schema.validator = _AN_OBJECT
    return given
