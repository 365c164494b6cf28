"""The colours of a terminal."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ohm_subagents._views.theme import PLAIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents._views.theme import Theme

STYLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "toolTitle": "default",
        "accent": "cyan",
        "text": "default",
        "muted": "bright_black",
        "dim": "dim",
        "success": "green",
        "warning": "yellow",
        "error": "red",
    }
)


class Ansi:
    """Mark texts with escape sequences; an unknown token marks nothing."""

    def fg(self, token: str, text: str) -> str:
        """Return the text in the colour of a token."""
        return _marked(STYLES.get(token, "default"), text)

    def bold(self, text: str) -> str:
        """Return the text in bold."""
        return _marked("bold", text)

    def strikethrough(self, text: str) -> str:
        """Return the text struck through."""
        return _marked("strike", text)


def terminal_theme() -> Theme:
    """Return the theme of the terminal: without marks if it has no colours, or if NO_COLOR is set."""
    from rich.console import Console

    console = Console()
    return PLAIN if console.no_color or console.color_system is None else Ansi()


def _marked(style: str, text: str) -> str:
    from rich.style import Style

    return Style.parse(style).render(text)
