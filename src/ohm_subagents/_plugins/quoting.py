"""Foreign texts in messages: without keys, shortened."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_KEY_SHAPES: Final = re.compile(r"(?:\bsk-|\bgsk_|\bxai-|\bAIza|\bBearer\s+)[\w*.\-]{4,}")
_MAX_CHARS: Final = 300


def quoted(said: str, secrets: Iterable[str]) -> str:
    """`said`, `redacted`, on one line without its last full stop, cut between words: half a key is like no key."""
    said = " ".join(redacted(said, secrets).split()).rstrip(".")
    if len(said) <= _MAX_CHARS:
        return said
    end = said.rfind(" ", 0, _MAX_CHARS + 1)
    return f"{said[: end if end > 0 else _MAX_CHARS].rstrip('.')}…"


def redacted(said: str, secrets: Iterable[str]) -> str:
    """`said` without `secrets`, the longest of them first, and without what looks like a key."""
    for secret in secrets:
        said = said.replace(secret, "***")
    return _KEY_SHAPES.sub("***", said)
