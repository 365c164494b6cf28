"""Truncate a text, keep its head, report what was cut, never cut inside a grapheme."""

from __future__ import annotations

import sys
from typing import Final, NamedTuple

WHOLE: Final = sys.maxsize
"""No limit: `outputMaxChars` is for models, and what a program or a person asks for is not cut."""


class Truncated(NamedTuple):
    """The head of a text."""

    text: str
    """The part that was kept."""
    total_chars: int
    """The code points of the whole text."""
    returned_chars: int
    """The code points of the part that was kept."""

    @property
    def is_truncated(self) -> bool:
        """True if text was cut off."""
        return self.returned_chars < self.total_chars


def shortened(text: str, limit: int) -> str:
    """Return the text; the beginning of a longer one, with an ellipsis as the last of `limit` code points.

    For a line that names or quotes something. An answer is cut by `truncate`, which says how much is lost.
    """
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def truncate(text: str, limit: int) -> Truncated:
    """Keep the head of a text: `limit` code points, fewer if that would split one character as a reader sees it."""
    total = len(text)
    if total <= limit:
        return Truncated(text=text, total_chars=total, returned_chars=total)
    from wcwidth import grapheme_boundary_before  # noqa: PLC0415  needed for the rare long answer only

    # Asked for the grapheme that holds the first lost code point: a cut on a boundary keeps everything before it.
    cut = grapheme_boundary_before(text[: limit + 1], limit + 1)
    return Truncated(text=text[:cut], total_chars=total, returned_chars=cut)
