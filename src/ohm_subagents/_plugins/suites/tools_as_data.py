"""Child tools as data: the functions stay where they are, and their calls come back to them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, Protocol, TypedDict

from pydantic_core import to_jsonable_python

from ohm_subagents._plugins.suites.image import Image
from ohm_subagents._plugins.suites.tool import JsonObject, Tool, ToolResult
from ohm_subagents.contract.wire.messages import WireImage
from ohm_subagents.contract.wire.run import WireTool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ohm_subagents._plugins.suites.tool import ToolCall


class ResultFields(TypedDict):
    """The fields of a message that holds the result of a tool."""

    text: str
    """The result, for the model."""
    details: JsonObject
    """The result, for machines."""
    is_error: bool
    """The call failed."""
    has_failed: bool
    """A subagent that the call started has failed."""
    images: tuple[WireImage, ...]
    """The images of the result."""


class ResultMessage(Protocol):
    """A message that holds the result of a tool: `ToolReturned` of a runner, `FunctionReturned` of a program."""

    @property
    def text(self) -> str:
        """The result, for the model."""
        ...

    @property
    def details(self) -> JsonObject:
        """The result, for machines."""
        ...

    @property
    def is_error(self) -> bool:
        """The call failed."""
        ...

    @property
    def has_failed(self) -> bool:
        """A subagent that the call started has failed."""
        ...

    @property
    def images(self) -> tuple[WireImage, ...]:
        """The images of the result."""
        ...


def tool_as_data(tool: Tool) -> WireTool:
    """Return all of a child tool but its functions."""
    return WireTool(
        name=tool.name,
        label=tool.label,
        description=tool.description,
        input_schema=to_jsonable_python(dict(tool.input_schema)),
        prompt_snippet=tool.prompt_snippet,
        prompt_guidelines=tool.prompt_guidelines,
        only_if_named=tool.only_if_named,
        checks_arguments=tool.checks_arguments,
    )


def tool_of_data(tool: WireTool, execute: Callable[[ToolCall], Awaitable[ToolResult]]) -> Tool:
    """Return a child tool whose calls `execute` sends to where its function is."""
    return Tool(
        name=tool.name,
        label=tool.label,
        description=tool.description,
        input_schema=tool.input_schema,
        execute=execute,
        call_view=lambda _arguments, _theme: tool.name,
        prompt_snippet=tool.prompt_snippet,
        prompt_guidelines=tool.prompt_guidelines,
        only_if_named=tool.only_if_named,
        checks_arguments=tool.checks_arguments,
    )


def result_as_data(result: ToolResult) -> ResultFields:
    """Return the fields of the message that holds a result."""
    return ResultFields(
        text=result.text,
        details=to_jsonable_python(result.details),
        is_error=result.is_error,
        has_failed=result.has_failed,
        images=tuple(WireImage(data=b64encode(one.data).decode(), media_type=one.media_type) for one in result.images),
    )


def result_of_data(message: ResultMessage) -> ToolResult:
    """Return the result that a message holds."""
    return ToolResult(
        text=message.text,
        details=message.details,
        is_error=message.is_error,
        has_failed=message.has_failed,
        images=tuple(Image(data=b64decode(one.data), media_type=one.media_type) for one in message.images),
    )
