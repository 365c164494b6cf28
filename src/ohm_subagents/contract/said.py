"""What an assistant says, piece by piece."""

from __future__ import annotations


def joined(said: tuple[str, ...], piece: str) -> tuple[str, ...]:
    """`said` with one more piece: short ones are merged into their like, so that a long answer is not copied a word."""
    kept = len(said)
    while kept and len(said[kept - 1]) <= len(piece):
        kept -= 1
        piece = f"{said[kept]}{piece}"
    return (*said[:kept], piece)
