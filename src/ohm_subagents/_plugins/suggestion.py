"""Guesses at misspelt names, for the advice of an error."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_CLOSE: Final = 0.8
"""One wrong, missing or swapped letter in a short name; a lower ratio pairs names that share a few letters."""


def did_you_mean(written: str, known: Iterable[str], *, provider: str = "", model: str = "") -> str:
    """`Did you mean "<provider>/<model>"? `, with the known name closest to `written` in the empty place; else ""."""
    match get_close_matches(written, tuple(known), n=1, cutoff=_CLOSE):
        case [name]:
            return f'Did you mean "{provider or name}/{model or name}"? '
        case _:
            return ""
