"""As much of openai-agents as its adapter uses: the package is not installed where types are checked."""

from collections.abc import Awaitable, Callable, Mapping

from agents.tool_context import ToolContext
from pydantic import JsonValue

class Usage:
    def __init__(
        self, *, requests: int = ..., input_tokens: int = ..., output_tokens: int = ..., total_tokens: int = ...
    ) -> None: ...
    def add(self, other: Usage) -> None: ...

class FunctionToolCustomDataContext:
    tool_context: ToolContext[object]

class FunctionTool:
    def __init__(
        self,
        *,
        name: str,
        description: str,
        params_json_schema: Mapping[str, JsonValue],
        on_invoke_tool: Callable[[ToolContext[object], str], Awaitable[object]],
        strict_json_schema: bool = ...,
        custom_data_extractor: Callable[[FunctionToolCustomDataContext], Mapping[str, JsonValue] | None] = ...,
    ) -> None: ...
