"""Text measured, cut and wrapped in terminal cells (task-v1, 17.1)."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ELLIPSIS = "…"
_TAB = "   "
_WIDEST = 3  # cells of one code point: a tab
_TOKEN = re.compile(r" +|[^ ]+")


def plain(text: str) -> str:
    """`text` without terminal escape sequences: what a subagent read must not drive the reader's terminal."""
    if "\x1b" not in text:
        return text
    from wcwidth import strip_sequences  # noqa: PLC0415  its tables are loaded for text that needs them only

    return strip_sequences(text).replace("\x1b", "")


def printable(text: str) -> str:
    """`text` for a terminal: what a subagent wrote cannot move the cursor, ring or rename the window."""
    shown = plain(text)
    if shown.isascii() and shown.replace("\n", "").replace("\t", "").isprintable():
        return shown
    return "".join(char for char in shown if char in "\n\t" or unicodedata.category(char) != "Cc")


def one_line(text: str) -> str:
    """`text` for one line of a terminal, its white space as single spaces."""
    return " ".join(printable(text).split())


def cells(text: str) -> int:
    """Width on a terminal: wide CJK and emoji 2, combining and control 0, a tab 3."""
    if text.isascii() and text.isprintable():
        return len(text)
    from wcwidth import width  # noqa: PLC0415  its tables are loaded for text that needs them only

    return width(text.replace("\t", _TAB), control_codes="ignore")


def fit(line: str, width: int) -> str:
    """`line`, or as much of it as leaves room for `…` within `width` cells."""
    if len(line) * _WIDEST <= width or cells(line) <= width:
        return line
    return next(_pieces(line, width - 1), "").rstrip() + ELLIPSIS


def wrap(text: str, width: int) -> Iterator[str]:
    """The lines of `text`, at most `width` cells each: broken at spaces, a word too long at any grapheme.

    Lazy, so that a reader of the first lines of a long text pays for these only.
    """
    for line in text.split("\n"):
        yield from _wrap_line(line, width)


def _wrap_line(line: str, width: int) -> Iterator[str]:
    if len(line) <= width and line.isascii() and line.isprintable():
        yield line.rstrip()
        return
    current, used = "", 0
    for token in _TOKEN.findall(line):
        needed = cells(token)
        is_space = token[0] == " "
        if needed > width and not is_space:
            if current.strip():
                yield current.rstrip()
            *whole, current = _pieces(token, width)
            yield from whole
            used = cells(current)
        elif used and used + needed > width:
            yield current.rstrip()
            current, used = ("", 0) if is_space else (token, needed)
        else:
            current, used = current + token, used + needed
    yield current.rstrip()


def _pieces(text: str, width: int) -> Iterator[str]:
    """`text` in pieces of at most `width` cells; a grapheme wider than that is a piece of its own."""
    from wcwidth import iter_graphemes  # noqa: PLC0415  its tables are loaded for text that needs them only

    piece, used = "", 0
    for grapheme in iter_graphemes(text):
        needed = cells(grapheme)
        if piece and used + needed > width:
            yield piece
            piece, used = "", 0
        piece, used = piece + grapheme, used + needed
    yield piece
