"""pydantic-ai's history as the plain system, user and assistant texts that every chat template knows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    CachePoint,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.tools import ToolDefinition

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a chat template."""

    role: Role
    content: str


def transcript(
    messages: Sequence[ModelMessage], parameters: ModelRequestParameters, tools: Sequence[ToolDefinition]
) -> list[ChatMessage]:
    """Return the conversation so far: one system message, then user and assistant in turn.

    Tool calls and results become text, since templates such as SmolLM2's drop what they do not know. Earlier thinking
    is left out. Raises `UserError` for a prompt with an image or another file.
    """
    system = [_instructions(messages, parameters)]
    said: list[ChatMessage] = []
    for message in messages:
        match message:
            case ModelRequest():
                for part in message.parts:
                    match part:
                        case SystemPromptPart():
                            system.append(part.content)
                        case UserPromptPart():
                            said.append(ChatMessage("user", _user_text(part)))
                        case ToolReturnPart():
                            result = f"Result of {part.tool_name}:\n{part.model_response_str()}"
                            said.append(ChatMessage("user", result))
                        case _:
                            pass  # `Model.prepare_messages` has made text of the others; new kinds may appear
            case ModelResponse():
                said.extend(ChatMessage("assistant", text) for text in _assistant_texts(message))
    system.append(_menu(tools))
    head = "\n\n".join(text for text in system if text.strip())
    return [ChatMessage("system", head), *_alternating(said)] if head else _alternating(said)


def asking(conversation: Sequence[ChatMessage], question: str) -> list[ChatMessage]:
    """Return the conversation with `question` as the last thing the user says."""
    return _alternating([*conversation, ChatMessage("user", question)])


def _alternating(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Neighbours of one role joined: many templates refuse two in a row."""
    joined: list[ChatMessage] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            joined[-1] = ChatMessage(message.role, f"{joined[-1].content}\n\n{message.content}")
        else:
            joined.append(message)
    return joined


def _instructions(messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> str:
    if parameters.instruction_parts is not None:
        return "\n\n".join(part.content for part in parameters.instruction_parts)
    given = (message.instructions for message in reversed(messages) if isinstance(message, ModelRequest))
    return next((text for text in given if text), "")


def _user_text(part: UserPromptPart) -> str:
    if isinstance(part.content, str):
        return part.content
    texts: list[str] = []
    for item in part.content:
        match item:
            case str():
                texts.append(item)
            case TextContent():
                texts.append(item.content)
            case CachePoint():
                pass
            case _:
                message = f"A GGUF model reads text only, and the prompt contains {type(item).__name__}."
                raise UserError(message)
    return "\n\n".join(texts)


def _assistant_texts(response: ModelResponse) -> list[str]:
    texts: list[str] = []
    for part in response.parts:
        match part:
            case TextPart() if part.content.strip():
                texts.append(part.content)
            case ToolCallPart():
                texts.append(f"{part.tool_name} {part.args_as_json_str()}")
            case _:
                pass
    return texts


def _menu(tools: Sequence[ToolDefinition]) -> str:
    if not tools:
        return ""
    lines = [f"- {tool.name}{_signature(tool.parameters_json_schema)}: {tool.description or ''}" for tool in tools]
    return "\n".join(["You work in steps. In a step you use one of these tools, or you answer:", *lines])


def _signature(schema: Mapping[str, JsonValue]) -> str:
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict):
        return "()"
    needed = required if isinstance(required, list) else []
    return f"({', '.join(name if name in needed else f'{name}?' for name in properties)})"


def compact(schema: Mapping[str, JsonValue]) -> str:
    """Return a schema as the model reads it."""
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
