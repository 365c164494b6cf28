"""Cap a text at the head, report what was cut, never cut inside a grapheme (004, Output truncation policy)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Capped:
    """`text` holds `returned_chars` of `total_chars` code points."""

    text: str
    total_chars: int
    returned_chars: int

    @property
    def is_truncated(self) -> bool:
        """Whether something was left out."""
        return self.returned_chars < self.total_chars


def cap(text: str, limit: int) -> Capped:
    """The first `limit` code points of `text`, fewer if the cut would split what a reader sees as one character."""
    total = len(text)
    if total <= limit:
        return Capped(text=text, total_chars=total, returned_chars=total)
    from wcwidth import grapheme_boundary_before  # noqa: PLC0415  needed for the rare long answer only

    # Asked for the grapheme that holds the first lost code point: a cut on a boundary keeps everything before it.
    cut = grapheme_boundary_before(text[: limit + 1], limit + 1)
    return Capped(text=text[:cut], total_chars=total, returned_chars=cut)
