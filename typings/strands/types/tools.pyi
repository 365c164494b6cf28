from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from typing import Any, TypedDict

class ToolSpec(TypedDict):
    name: str
    description: str
    inputSchema: dict[str, object]

class ToolUse(TypedDict):
    input: object
    name: str
    toolUseId: str

class AgentTool(ABC):
    def __init__(self) -> None: ...
    @property
    @abstractmethod
    def tool_name(self) -> str: ...
    @property
    @abstractmethod
    def tool_spec(self) -> ToolSpec: ...
    @property
    @abstractmethod
    def tool_type(self) -> str: ...
    @abstractmethod
    def stream(self, tool_use: ToolUse, invocation_state: dict[str, Any], **kwargs: Any) -> AsyncGenerator[Any]: ...
