"""An estimate of the tokens of a model request. Imports pydantic_ai, so import it late."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, cast

from pydantic_ai.messages import BinaryContent, ModelRequest, ModelResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.tools import ToolDefinition

_BYTES_A_TOKEN: Final = 4
_BYTES_A_PART: Final = 20
_BYTES_AN_IMAGE: Final = 6000
"""As large as providers let one be before they scale it down."""
_BYTES_A_PARAMETER: Final = 120
"""Of the JSON schema of a tool, which is not worth serialising."""


class TokenEstimate:
    """Estimates the requests of one run: what the provider counted for the last turn, and the bytes said since.

    The work of a request is proportional to what is new in it; a history only grows.
    """

    def __init__(self) -> None:
        self._measured = 0
        self._tokens = 0

    def of(self, messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> int:
        """Return the input tokens of a request with these messages and tools."""
        known, said = self._tokens, 0
        for index in range(len(messages) - 1, self._measured - 1, -1):
            message = messages[index]
            if isinstance(message, ModelResponse) and message.usage.input_tokens:
                known = message.usage.input_tokens + message.usage.output_tokens
                break
            said += _bytes_of_message(message)
        if not known:
            said += sum(map(_bytes_of_tool, parameters.function_tools)) + _bytes_of_instructions(messages)
        self._measured = len(messages)
        self._tokens = known + -(-said // _BYTES_A_TOKEN)
        return self._tokens


def _bytes_of_message(message: ModelMessage) -> int:
    return sum(
        _BYTES_A_PART + _bytes(getattr(part, "content", None)) + _bytes(getattr(part, "args", None))
        for part in message.parts
    )


def _bytes_of_instructions(messages: Sequence[ModelMessage]) -> int:
    newest = messages[-1] if messages else None
    return _bytes(newest.instructions) if isinstance(newest, ModelRequest) else 0


def _bytes_of_tool(tool: ToolDefinition) -> int:
    return _bytes_of_words(tool.name, tool.description, len(tool.parameters_json_schema.get("properties", ())))


@lru_cache(maxsize=256)  # the same few tools, for each run
def _bytes_of_words(name: str, description: str | None, parameters: int) -> int:
    return _BYTES_A_PART + _bytes(name) + _bytes(description) + parameters * _BYTES_A_PARAMETER


def _bytes(value: object) -> int:
    if value is None:
        return 0
    if isinstance(value, list):
        return sum(map(_bytes, cast("list[object]", value)))
    if isinstance(value, BinaryContent):
        return _BYTES_AN_IMAGE
    text = value if isinstance(value, str) else str(value)
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
