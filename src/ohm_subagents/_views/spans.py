"""Lines made of pieces that are marked apart, and cut as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from ohm_subagents._views.cells import cells, fit, wrap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents._views.theme import Theme

Span: TypeAlias = tuple[str, str]
"""A token of a theme, `bold`, or empty for no mark; and a printable text without line ends."""
BETWEEN: Final = " · "


def painted(spans: Iterable[Span], width: int, theme: Theme) -> str:
    """Return the texts side by side, cut to `width` cells, each marked by its token."""
    parts = [*spans]
    shown, at = fit("".join(text for _, text in parts), max(1, width)), 0
    pieces: list[Span] = []
    for mark, text in parts:
        pieces.append((mark, shown[at : at + len(text)]))
        at += len(text)
    return marked(pieces, theme)


def stacked(parts: Iterable[Span], width: int) -> list[list[Span]]:
    """Put texts side by side with ` · ` between them, in as many lines of `width` cells as that needs: none is cut."""
    lines: list[list[Span]] = []
    for mark, text in parts:
        after: list[Span] = [("dim", BETWEEN), (mark, text)]
        if lines and span_cells([*lines[-1], *after]) <= width:
            lines[-1] += after
        else:
            lines += [[(mark, piece)] for piece in wrap(text, width)]
    return lines


def folded(spans: Iterable[Span], width: int, *, margin: str) -> list[list[Span]]:
    """Put the texts side by side in lines of `width` cells, broken between words; `margin` stands before the others."""
    parts = [*spans]
    text, at, lines = "".join(text for _, text in parts), 0, list[list[Span]]()
    if cells(text) <= width:
        return [parts]
    for piece in wrap(text, max(1, width - len(margin))):
        at = text.index(piece, at)
        lines.append([*([("", margin)] if lines else []), *_sliced(parts, at, at + len(piece))])
        at += len(piece)
    return lines


def _sliced(spans: Iterable[Span], start: int, end: int) -> list[Span]:
    found, at = list[Span](), 0
    for mark, text in spans:
        if piece := text[max(0, start - at) : max(0, end - at)]:
            found.append((mark, piece))
        at += len(text)
    return found


def marked(spans: Iterable[Span], theme: Theme) -> str:
    """Return the texts side by side, whole, each marked by its token."""
    return "".join(
        theme.bold(text) if mark == "bold" else theme.fg(mark, text) if mark else text for mark, text in spans if text
    )


def span_cells(spans: Iterable[Span]) -> int:
    """Return the width of the texts side by side."""
    return sum(cells(text) for _, text in spans)
