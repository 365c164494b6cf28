"""The end of a long text, in the few lines that there is room for."""

from __future__ import annotations

from collections import deque
from typing import Final

from ohm_subagents._views.cells import fit, printable, wrap

MAX_LINES: Final = 12
EXPAND: Final = "ctrl+o to expand"


def preview_lines(text: str, *, width: int, max_lines: int = MAX_LINES, how: str = EXPAND) -> list[str]:
    """The last `max_lines` lines of `text` as wrapped at `width` cells, without terminal escape codes.

    When there are more, `... (<k> earlier lines, <how>)` comes first; `how` tells a person how to see them all.
    """
    shown = printable(text)
    lines = list(wrap(shown, width)) if shown else []
    hidden = len(lines) - max_lines
    if hidden <= 0:
        return lines
    return [fit(f"... ({hidden} earlier lines, {how})", width), *lines[hidden:]]


def last_lines(text: str, *, width: int, limit: int) -> list[str]:
    """The last `limit` lines of `text` as wrapped at `width` cells; only the lines that can be among them are wrapped.

    A streamed paragraph is wrapped from its beginning, so that its lines stay where they are while it grows.
    """
    paragraphs = text.rsplit("\n", limit)[-limit:]
    return list(deque(wrap("\n".join(paragraphs), width), limit)) if text else []
