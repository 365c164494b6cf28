"""As much of claude-agent-sdk as its adapter uses: the package is not installed where types are checked."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypedDict

from pydantic import JsonValue

class McpSdkServerConfig(TypedDict):
    name: str
    instance: object

class SdkMcpTool:
    def __init__(
        self,
        name: str,
        description: str,
        input_schema: dict[str, JsonValue],
        handler: Callable[[dict[str, JsonValue]], Awaitable[dict[str, object]]],
    ) -> None: ...

def create_sdk_mcp_server(
    name: str, version: str = ..., tools: Sequence[SdkMcpTool] | None = ...
) -> McpSdkServerConfig: ...
