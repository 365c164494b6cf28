"""A wrapper that allows a subagent some actions of a tool only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ohm_subagents._plugins.suites.tool import ToolResult

if TYPE_CHECKING:
    from ohm_subagents._plugins.suites.tool import Tool, ToolCall
    from ohm_subagents.contract.agent import AgentOptions


def restrained(tool: Tool, agent: AgentOptions | None) -> Tool:
    """Return the tool limited to the actions that the agent is allowed; any other, or none, gets an error result."""
    allowed = None if agent is None else dict(agent.actions).get(tool.name)
    if allowed is None:
        return tool

    async def execute(call: ToolCall) -> ToolResult:
        given = call.arguments if isinstance(call.arguments, dict) else {}
        action = given.get("action")
        if action in allowed:
            return await tool.execute(call)
        text = f"'{action}' is no action that is allowed here. Allowed: {', '.join(allowed) or 'none'}."
        return ToolResult(text=text, details={}, is_error=True)

    return replace(tool, execute=execute)
