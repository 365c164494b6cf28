"""Texts that can be written down."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import JsonValue


def encodable(text: str) -> str:
    """The text, with a mark for whatever no encoding can write: models and other programs send halves of characters."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def encodable_json(value: JsonValue) -> JsonValue:
    """The same of every text in a JSON value, keys included."""
    match value:
        case str():
            return encodable(value)
        case list():
            return [encodable_json(item) for item in value]
        case dict():
            return {encodable(key): encodable_json(item) for key, item in value.items()}
        case _:
            return value
