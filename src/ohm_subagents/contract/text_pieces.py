"""A long text that grows by small pieces, such as what an assistant streams."""

from __future__ import annotations


def extended(pieces: tuple[str, ...], piece: str) -> tuple[str, ...]:
    """The pieces and one more: short ones are merged into their like, so that a long text is not copied for a word."""
    kept = len(pieces)
    while kept and len(pieces[kept - 1]) <= len(piece):
        kept -= 1
        piece = f"{pieces[kept]}{piece}"
    return (*pieces[:kept], piece)
