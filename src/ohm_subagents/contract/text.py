"""Texts: make one encodable, take secrets out of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pydantic_core import PydanticSerializationError, to_json

if TYPE_CHECKING:
    from pydantic import JsonValue


def encodable(text: str) -> str:
    """Replace what no encoding can write by `?`: models and other programs send halves of characters."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def encodable_json(value: JsonValue) -> JsonValue:
    """Do the same with every text in a JSON value, keys included; most are so already."""
    try:
        to_json(value)
    except (PydanticSerializationError, ValueError):
        return _replaced(value)
    return value


def _replaced(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {encodable(key): _replaced(item) for key, item in value.items()}
    return [_replaced(item) for item in value] if isinstance(value, list) else value


def with_advice(message: str, advice: str) -> str:
    """Return the sentence of a fault, and after it the one of the way out, if there is one."""
    if not advice:
        return message
    return f"{message.rstrip('.')}{'' if message.endswith('?') else '.'} {advice}"


class Redactor(Protocol):
    """Takes secrets out of whole texts: a half of one cannot be recognised. A text that it returned stays as it is."""

    def text(self, text: str) -> str:
        """Return the text without secrets."""
        ...

    def json(self, value: JsonValue) -> JsonValue:
        """Do the same with every text in a JSON value."""
        ...

    def may_go_on(self, text: str) -> bool:
        """Return True if a text ends with a possible beginning of a secret."""
        ...

    def cut_off(self, text: str) -> str:
        """Do the same as `text` with a text that broke off: a possible beginning of a secret at its end goes too."""
        ...
