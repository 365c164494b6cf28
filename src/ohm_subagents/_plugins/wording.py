"""Foreign texts in messages, shortened and without keys; guesses at misspelt names."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_KEY_SHAPES: Final = re.compile(r"(?:\bsk-|\bgsk_|\bxai-|\bAIza|\bBearer\s+)[\w*.\-]{4,}")
_MAX_CHARS: Final = 300
_CLOSE: Final = 0.8
"""One wrong, missing or swapped letter in a short name; a lower ratio pairs names that share a few letters."""


def quoted(said: str, secrets: Iterable[str]) -> str:
    """Return `said`, `redacted`, on one line without its last full stop, cut between words: no half of a key."""
    said = " ".join(redacted(said, secrets).split()).rstrip(".")
    if len(said) <= _MAX_CHARS:
        return said
    end = said.rfind(" ", 0, _MAX_CHARS + 1)
    return f"{said[: end if end > 0 else _MAX_CHARS].rstrip('.')}…"


def redacted(said: str, secrets: Iterable[str]) -> str:
    """Return `said` without `secrets`, the longest of them first, and without what looks like a key."""
    for secret in secrets:
        said = said.replace(secret, "***")
    return _KEY_SHAPES.sub("***", said)


def did_you_mean(written: str, known: Iterable[str], *, provider: str = "", model: str = "") -> str:
    """Return `Did you mean "<provider>/<model>"? `, with the known name closest to `written`; else ""."""
    match get_close_matches(written, tuple(known), n=1, cutoff=_CLOSE):
        case [name]:
            return f'Did you mean "{provider or name}/{model or name}"? '
        case _:
            return ""
