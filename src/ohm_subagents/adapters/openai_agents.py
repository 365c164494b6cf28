"""Subagents for agents of openai-agents."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ohm_subagents.adapters._calls import call_tool, installed, parsed

if TYPE_CHECKING:
    from typing import Unpack

    from agents import FunctionTool
    from agents.tool_context import ToolContext

    from ohm_subagents import CallOptions, Ohm
    from ohm_subagents.suite import JsonObject

__all__ = ["tools"]


def tools(ohm: Ohm, **options: Unpack[CallOptions]) -> list[FunctionTool]:
    """Return the tools of `ohm` for `Agent(tools=...)`.

    The model reads the text of a result, also that of a failure; `details` are the `custom_data` of its item. Usage is
    added to that of the run. A run that is cancelled cancels what its calls have started.
    `options` are those of `Ohm.begin`, for every call.
    """
    with installed("openai-agents"):
        from agents import FunctionTool, Usage

    details: dict[str, JsonObject] = {}

    async def call(name: str, context: ToolContext[object], arguments: str) -> str:
        called = await call_tool(ohm, name, parsed(arguments), **options)
        used = called.usage
        context.usage.add(
            Usage(
                requests=used.requests,
                input_tokens=used.input_tokens,
                output_tokens=used.output_tokens,
                total_tokens=used.input_tokens + used.output_tokens,
            )
        )
        details[context.tool_call_id] = called.result.details
        return called.result.text

    return [
        FunctionTool(
            name=name,
            description=tool.description,
            params_json_schema=dict(tool.input_schema),
            on_invoke_tool=partial(call, name),
            strict_json_schema=False,  # a strict schema has no optional fields
            custom_data_extractor=lambda answered: details.pop(answered.tool_context.tool_call_id, None),
        )
        for name, tool in ohm.tools.items()
    ]
