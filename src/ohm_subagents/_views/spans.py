"""Lines made of pieces that are marked apart, and cut as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from ohm_subagents._views.cells import cells, fit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents._views.theme import Theme

Span: TypeAlias = tuple[str, str]
"""A token of a theme, `bold`, or empty for no mark; and a printable text without line ends."""


def painted(spans: Iterable[Span], width: int, theme: Theme) -> str:
    """Return the texts side by side, cut to `width` cells, each marked by its token."""
    parts = [*spans]
    shown, at, marked = fit("".join(text for _, text in parts), max(1, width)), 0, ""
    for mark, text in parts:
        piece = shown[at : at + len(text)]
        at += len(text)
        if piece:
            marked += theme.bold(piece) if mark == "bold" else theme.fg(mark, piece) if mark else piece
    return marked


def span_cells(spans: Iterable[Span]) -> int:
    """Return the width of the texts side by side."""
    return sum(cells(text) for _, text in spans)
