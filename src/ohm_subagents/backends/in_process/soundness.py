"""Answers of providers, made sound: nothing of one is lost for a slip. Imports pydantic_ai."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from pydantic_ai.messages import TextPart, ThinkingPart, ToolCallPart

from ohm_subagents.plugin import as_count, encodable, encodable_json

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse, ModelResponsePart

_COUNTS: Final = (
    *("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"),
    *("input_audio_tokens", "output_audio_tokens", "cache_audio_read_tokens"),
)


def sound(response: ModelResponse) -> ModelResponse:
    """Return the same with texts that can be written down, whole counts, and ids of calls that differ.

    Results are matched to calls by their ids, and no provider promises that it gives none twice.
    """
    used = response.usage
    for name in _COUNTS:
        count = as_count(getattr(used, name))
        if count is not None:
            setattr(used, name, count)
    used.details = {name: as_count(value) or 0 for name, value in used.details.items()}
    seen: set[str] = set()
    parts = [_sound_part(part, seen) for part in response.parts]
    same = all(new is old for new, old in zip(parts, response.parts, strict=True))
    return response if same else replace(response, parts=parts)


def _sound_part(part: ModelResponsePart, seen: set[str]) -> ModelResponsePart:
    match part:
        case TextPart(content=text) | ThinkingPart(content=text):
            plain = encodable(text)
            return part if plain == text else replace(part, content=plain)
        case ToolCallPart(tool_call_id=call_id, args=args):
            own, number = call_id, 2
            while own in seen:
                own, number = f"{call_id}_{number}", number + 1
            seen.add(own)
            if own != call_id:
                part = replace(part, tool_call_id=own)
            plain_args = _sound_args(args) if isinstance(args, str) else args
            return part if plain_args is args else _with_args(part, plain_args)
        case _:
            return part


def _with_args(part: ToolCallPart, args: Any) -> ToolCallPart:  # noqa: ANN401  pydantic-ai's own kinds of calls differ
    return replace(part, args=args)


def _sound_args(args: str) -> str:
    """Arguments as JSON, in which half a character may be an escape."""
    if "\\ud" not in args and "\\uD" not in args:
        plain = encodable(args)
        return args if plain == args else plain
    try:
        return json.dumps(encodable_json(json.loads(args)))
    except (ValueError, RecursionError):
        return encodable(args)
