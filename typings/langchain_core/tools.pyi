from collections.abc import Awaitable, Callable
from typing import Literal

from pydantic import JsonValue

class ToolException(Exception): ...

class StructuredTool:
    def __init__(
        self,
        *,
        name: str,
        description: str,
        args_schema: dict[str, JsonValue],
        coroutine: Callable[..., Awaitable[tuple[str, object]]],
        response_format: Literal["content_and_artifact"],
        handle_tool_error: bool,
    ) -> None: ...
