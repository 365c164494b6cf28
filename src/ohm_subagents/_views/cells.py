"""Text measured, cut and wrapped in terminal cells."""

from __future__ import annotations

import re
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic import JsonValue

ELLIPSIS = "…"
PREVIEW_LINES: Final = 12
EXPAND: Final = "ctrl+o to expand"
_TAB = "   "
_HUNG = "  "
_WIDEST = 3  # cells of one code point: a tab
_TOKEN = re.compile(r" +|[^ ]+")
UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
    r"\xad\u180e\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f]"
)
"""Controls other than tabs and line ends, marks of direction, halves of characters, and what nobody sees.

Not the joiners, without which emoji and some scripts fall apart.
"""
_NARROW = re.compile(
    r"[\x20-\x7e\xa0-\xac\xae-\u02ff\u2010-\u2027\u2500-\u257f\u25b8\u25cb\u25cf\u2713-\u2718\u2800-\u28ff]*"
)
"""Letters of Latin, punctuation, and the signs of our own views: a cell each, whatever stands beside them."""
_SEPARATORS = re.compile(r"[\u2028\u2029]")
_HALVES = re.compile(r"[\ud800-\udfff]")


def printable(text: str) -> str:
    """Return `text` for a terminal or a pipe, so that text from outside cannot drive, turn round or break it.

    Sequences, controls other than tabs and line ends, marks of direction and characters without a shape go; half a
    character is a `?`, and a separator of lines or paragraphs a line end.
    """
    if text.replace("\n", "").replace("\t", "").isprintable():  # nothing of UNPRINTABLE is that
        return text
    return UNPRINTABLE.sub("", _SEPARATORS.sub("\n", _HALVES.sub("?", _without_sequences(text))))


def wrapped(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text from outside: `printable`, and wrapped where they are wider than `width` cells."""
    for line in printable(text).replace("\t", _TAB).split("\n"):
        yield from [line] if cells(line) <= width else _wrap_line(line, max(1, width))


def _without_sequences(text: str) -> str:
    if "\x1b" not in text:
        return text
    from wcwidth import strip_sequences  # noqa: PLC0415  its tables are loaded for text that needs them only

    return strip_sequences(text)


def one_line(text: str) -> str:
    """Return `text` as one printable line, its white space as single spaces."""
    return " ".join(printable(text).split())


def printable_json(value: JsonValue) -> JsonValue:
    """Make every text in a JSON value `printable`; return None for one that is nested too deep."""
    try:
        return _printable_json(value)
    except RecursionError:
        return None


def _printable_json(value: JsonValue) -> JsonValue:
    match value:
        case str():
            return printable(value)
        case list():
            return [_printable_json(item) for item in value]
        case dict():
            return {printable(key): _printable_json(item) for key, item in value.items()}
        case _:
            return value


def cells(text: str) -> int:
    """Return the width on a terminal: wide CJK and emoji 2, combining and control 0, a tab 3."""
    if _NARROW.fullmatch(text):
        return len(text)
    from wcwidth import width  # noqa: PLC0415  its tables are loaded for text that needs them only

    return width(text.replace("\t", _TAB), control_codes="ignore")


def clip(line: str, width: int) -> str:
    """Return `line`, or as much of it as leaves room for `…` within `width` cells, with the space that it ends in."""
    if len(line) * _WIDEST <= width or cells(line) <= width:
        return line
    return next(_pieces(line, width - 1), "") + ELLIPSIS


def fit(line: str, width: int) -> str:
    """Return `line`, or as much of it as leaves room for `…` within `width` cells, without a space before that."""
    clipped = clip(line, width)
    return line if clipped is line else clipped[:-1].rstrip() + ELLIPSIS


def fit_end(line: str, width: int) -> str:
    """Return `line`, or as much of its end as leaves room for `…` within `width` cells: ids differ at their ends."""
    if cells(line) <= width:
        return line
    kept = line[-max(0, width - 1) :] if width > 1 else ""
    while cells(kept) > width - 1:
        kept = kept[1:]
    return f"…{kept}"


def wrap(text: str, width: int) -> Iterator[str]:
    """Yield the lines of `text`, at most `width` cells each: broken at spaces, a word too long at any grapheme.

    Lazy, so that a reader of the first lines of a long text pays for these only.
    """
    for line in text.split("\n"):
        yield from _wrap_line(line, width)


def hung(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a printable text; what is wider than `width` is broken between words, and goes on indented.

    So no word of a line that is indented gets the look of a line of another kind.
    """
    for line in text.split("\n"):
        if cells(line) <= width:
            yield line
            continue
        margin = line[: len(line) - len(line.lstrip(" "))][: width // 2]
        after = f"{margin}{_HUNG}" if margin and len(margin) + len(_HUNG) <= width // 2 else margin
        first, *following = wrap(line[len(margin) :], width - len(after))
        yield margin + first
        yield from (after + one for one in following)


def preview_lines(text: str, *, width: int, max_lines: int = PREVIEW_LINES, how: str = EXPAND) -> list[str]:
    """Return the last `max_lines` lines of `text`, wrapped at `width` cells, without terminal escape codes.

    When there are more, `... (<k> earlier lines, <how>)` comes first; `how` tells a person how to see them all.
    """
    shown = printable(text)
    lines = list(wrap(shown, width)) if shown else []
    hidden = len(lines) - max_lines
    if hidden <= 0:
        return lines
    return [fit(f"... ({hidden} earlier lines, {how})", width), *lines[hidden:]]


def cut_lines(lines: Iterable[str], *, width: int, limit: int) -> list[str]:
    """Return the first `limit` of these lines of `width` cells; the last one ends with `…` if more follow."""
    first = [*islice(lines, limit + 1)]
    return first if len(first) <= limit else [*first[: limit - 1], fit(first[limit - 1] + ELLIPSIS, width)]


def last_lines(text: str, *, width: int, limit: int) -> list[str]:
    """Return the last `limit` lines of `text`, wrapped at `width` cells; only lines that can be among them are wrapped.

    A streamed paragraph is wrapped from its beginning, so that its lines stay where they are while it grows.
    """
    paragraphs = text.rsplit("\n", limit)[-limit:]
    return list(deque(wrap("\n".join(paragraphs), width), limit)) if text else []


def _wrap_line(line: str, width: int) -> Iterator[str]:
    if len(line) <= width and line.isascii() and line.isprintable():
        yield line.rstrip()
        return
    current, used = "", 0
    for found in _TOKEN.finditer(line):
        token = found[0]
        needed = cells(token)
        is_space = token[0] == " "
        if needed > width and not is_space:
            if current.strip():
                yield current.rstrip()
            current = ""
            for piece in _pieces(token, width):
                if current:
                    yield current
                current = piece
            used = cells(current)
        elif used and used + needed > width:
            if current.strip():
                yield current.rstrip()
            current, used = ("", 0) if is_space else (token, needed)
        else:
            current, used = current + token, used + needed
    yield current.rstrip()


def _pieces(text: str, width: int) -> Iterator[str]:
    """Yield `text` in pieces of at most `width` cells; a grapheme wider than that is a piece of its own."""
    if text.isascii() and text.isprintable():
        step = max(width, 1)
        yield from (text[at : at + step] for at in range(0, len(text) or 1, step))
        return
    from wcwidth import iter_graphemes  # noqa: PLC0415  its tables are loaded for text that needs them only

    piece, used = "", 0
    for grapheme in iter_graphemes(text):
        needed = cells(grapheme)
        if piece and used + needed > width:
            yield piece
            piece, used = "", 0
        piece, used = piece + grapheme, used + needed
    yield piece
