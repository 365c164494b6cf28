"""Quotations of providers and programs in messages of ours: cut, and without keys.

More looks like a key here than in other texts, since a provider repeats the key that it refuses, and often half of it.
Paths and stacks stay: they may be the very reason of a failure.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ohm_subagents.redaction.known_values import spelled, without_values

if TYPE_CHECKING:
    from collections.abc import Iterable

_KEY_SHAPES: Final = re.compile(r"(?:\bsk-|\bgsk_|\bxai-|\bAIza|\bBearer\s+)[\w*.\-]{4,}")
_MARK: Final = "***"
_MAX_CHARS: Final = 300


def redacted_line(said: str, secrets: Iterable[str]) -> str:
    """Return `redacted_text` on one line without its last full stop, cut between words at 300 characters."""
    said = " ".join(redacted_text(said, secrets).split()).rstrip(".")
    if len(said) <= _MAX_CHARS:
        return said
    end = said.rfind(" ", 0, _MAX_CHARS + 1)
    return f"{said[: end if end > 0 else _MAX_CHARS].rstrip('.')}…"


def redacted_text(said: str, secrets: Iterable[str]) -> str:
    """Return the text with `***` in place of `secrets`, in any spelling, and of what looks like a key."""
    return _KEY_SHAPES.sub(_MARK, without_values(said, _forms(frozenset(secrets)), _MARK))


@lru_cache(maxsize=4)
def _forms(secrets: frozenset[str]) -> frozenset[str]:
    """Return the secrets, short ones too, and their spellings: one run quotes with the same secrets again and again."""
    return secrets | spelled(secrets)
