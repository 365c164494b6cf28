"""Long texts cut to what a model gets to see, with a note of what was cut."""

from collections.abc import Iterable
from dataclasses import dataclass

MAX_LINES = 2000
MAX_CHARS = 50_000
MAX_LINE_CHARS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Lines that fit the budget; `cut` says whether there were more."""

    lines: tuple[str, ...]
    cut: bool


def clip(line: str, limit: int = MAX_LINE_CHARS) -> str:
    """One line, shortened with a note when it is long."""
    return line if len(line) <= limit else f"{line[:limit]} [line cut]"


def head(lines: Iterable[str], *, max_lines: int = MAX_LINES, max_chars: int = MAX_CHARS) -> Excerpt:
    """Return the first lines that fit; at least one, so that reading always moves on."""
    kept: list[str] = []
    room = max_chars
    for line in lines:
        shown = clip(line)
        room -= len(shown) + 1
        if len(kept) == max_lines or (room < 0 and kept):
            return Excerpt(lines=tuple(kept), cut=True)
        kept.append(shown)
    return Excerpt(lines=tuple(kept), cut=False)


def tail(lines: list[str], *, max_lines: int = MAX_LINES, max_chars: int = MAX_CHARS) -> Excerpt:
    """Return the last lines that fit."""
    last = head(reversed(lines), max_lines=max_lines, max_chars=max_chars)
    return Excerpt(lines=last.lines[::-1], cut=last.cut)
