"""Subagents for the Claude Agent SDK."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ohm_subagents.adapters._calls import call_tool, installed

if TYPE_CHECKING:
    from typing import Unpack

    from claude_agent_sdk import McpSdkServerConfig

    from ohm_subagents import CallOptions, Ohm
    from ohm_subagents.suite import JsonObject

__all__ = ["server"]


def server(ohm: Ohm, **options: Unpack[CallOptions]) -> McpSdkServerConfig:
    """Return the tools of `ohm` as a server in this process, for `ClaudeAgentOptions(mcp_servers={"ohm": ...})`.

    Claude Code calls them `mcp__ohm__<tool>`, which `allowed_tools` has to allow. It reads the text of a result, also
    that of a failure, and checks arguments by the schema itself. A call that it cancels cancels what that has started.
    `options` are those of `Ohm.begin`, for every call.
    """
    with installed("claude-agent-sdk"):
        from claude_agent_sdk import SdkMcpTool, create_sdk_mcp_server

    async def call(name: str, arguments: JsonObject) -> dict[str, object]:
        result = (await call_tool(ohm, name, arguments, **options)).result
        return {"content": [{"type": "text", "text": result.text}], "is_error": result.is_error}

    offered = [
        SdkMcpTool(name, tool.description, dict(tool.input_schema), partial(call, name))
        for name, tool in ohm.tools.items()
    ]
    return create_sdk_mcp_server("ohm", tools=offered)
