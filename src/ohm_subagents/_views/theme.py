"""Colours by their meaning; the host that shows the text decides how they look."""

from __future__ import annotations

from dataclasses import field
from typing import Final, Protocol

from ohm_subagents._records import dataclass


class Theme(Protocol):
    """Marks a piece of text. Tokens: `toolTitle accent text muted dim success warning error`."""

    def fg(self, token: str, text: str) -> str:
        """Return the text in the colour of a token."""
        ...

    def bold(self, text: str) -> str:
        """Return the text in bold."""
        ...

    def strikethrough(self, text: str) -> str:
        """Return the text struck through."""
        ...


class _Plain:
    """Adds no marks: each method returns the text as it is."""

    def fg(self, token: str, text: str) -> str:
        """Ignore the token."""
        del token
        return text

    def bold(self, text: str) -> str:
        """Return the text."""
        return text

    def strikethrough(self, text: str) -> str:
        """Return the text."""
        return text


PLAIN: Final[Theme] = _Plain()


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The form of a shown result."""

    expanded: bool = False
    """Show the whole result, not the collapsed one."""
    width: int = 120
    """The width in terminal cells."""
    theme: Theme = field(default=PLAIN)
    """The marks."""
