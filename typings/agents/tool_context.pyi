from typing import Generic, TypeVar

from agents import Usage

ContextT = TypeVar("ContextT")

class ToolContext(Generic[ContextT]):
    tool_call_id: str
    usage: Usage
