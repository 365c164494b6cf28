"""The name that was perhaps meant, for advice on one that nobody knows."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def nearest_name(written: str, known: Iterable[str], *, likeness: float = 0.7) -> str | None:
    """Return the known name that is spelt most like `written`; None if none is so much like it, from 0 to 1.

    Blanks around it and the case of letters do not count.
    """
    names = {name.casefold(): name for name in known}
    near = get_close_matches(written.strip().casefold(), names, n=1, cutoff=likeness)
    return names[near[0]] if near else None


def did_you_mean(written: str, known: Iterable[str], *, likeness: float = 0.7) -> str:
    """Return `Did you mean '<name>'? `, for advice to begin with; empty if no name is so much like it."""
    near = nearest_name(written, known, likeness=likeness)
    return "" if near is None else f"Did you mean '{near}'? "
