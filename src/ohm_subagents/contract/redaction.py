"""The interface of the engine to the redaction of secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pydantic import JsonValue


class Redactor(Protocol):
    """Takes secrets out of whole texts: a half of one cannot be recognised. What it gives back stays as it is."""

    def text(self, text: str) -> str:
        """The text without secrets."""
        ...

    def json(self, value: JsonValue) -> JsonValue:
        """The same of every text in a JSON value."""
        ...

    def may_go_on(self, text: str) -> bool:
        """Return True if a text ends with a possible beginning of a secret."""
        ...

    def cut_off(self, text: str) -> str:
        """The same of a text that has no end: what may be the beginning of a secret goes too."""
        ...
