"""Check the arguments of a plugin's tool by its schema, so that no author repeats the same checks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ohm_subagents._surfaces.tool import failed
from ohm_subagents.contract.errors import ErrorCode, OhmError

if TYPE_CHECKING:
    from ohm_subagents._plugins.suites import Tool, ToolCall, ToolResult


def checking_tool(tool: Tool) -> Tool:
    """Return the tool with arguments checked before a call; a tool that checks them itself stays as it is."""
    if tool.checks_arguments:
        return tool

    async def execute(call: ToolCall) -> ToolResult:
        from ohm_subagents._plugins.fit import misfit  # noqa: PLC0415  slow, and needed by plugins only

        wrong = misfit(call.arguments, tool.input_schema, name="arguments")
        if wrong is None:
            return await tool.execute(call)
        error = OhmError(code=ErrorCode.INVALID_TOOL_ARGUMENTS, message=f"Tool '{tool.name}' was not called: {wrong}")
        return failed(tool, error)

    return replace(tool, execute=execute)
