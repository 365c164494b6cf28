"""Our `Tool`s as pydantic-ai tools. Imports pydantic_ai, so import it late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import BinaryContent
from pydantic_ai.tools import RunContext
from pydantic_ai.tools import Tool as UpstreamTool
from pydantic_core import SchemaValidator, core_schema

from ohm_subagents.backends.in_process.tools.use import refuse_if_closed
from ohm_subagents.plugin import Sink, Tool, call_child_tool

if TYPE_CHECKING:
    from pydantic import JsonValue


_AN_OBJECT: Final = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))
"""All that is looked at before a tool is called; arguments that are none would cost the run."""


def offered(tool: Tool, sink: Sink) -> UpstreamTool[object]:
    """`tool`, for the model: it validates its own arguments, reports progress to `sink`, and may fail in words.

    One that raises costs its call and not the run.
    """

    async def execute(ctx: RunContext[object], /, **arguments: JsonValue) -> str | list[str | BinaryContent]:
        refuse_if_closed(ctx)
        result = await call_child_tool(tool, arguments, call_id=ctx.tool_call_id or "", sink=sink)
        if result.is_error:
            raise ToolFailed(result.text)
        if not result.images:
            return result.text
        return [result.text, *(BinaryContent(data=one.data, media_type=one.media_type) for one in result.images)]

    given = UpstreamTool[object].from_schema(
        execute,
        name=tool.name,
        description=tool.description,
        json_schema=dict(tool.input_schema),
        takes_ctx=True,
    )
    given.function_schema.validator = _AN_OBJECT
    return given
