"""What somebody else wrote, fit to be shown: one line, no keys, shortened."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_KEY_SHAPES: Final = re.compile(r"(?:\bsk-|\bgsk_|\bxai-|\bAIza|\bBearer\s+)[\w*.\-]{4,}")
_MAX_CHARS: Final = 300


def quoted(said: str, secrets: Iterable[str]) -> str:
    """`said`, `redacted`, on one line without its last full stop."""
    said = " ".join(redacted(said, secrets).split()).rstrip(".")
    return f"{said[:_MAX_CHARS]}…" if len(said) > _MAX_CHARS else said


def redacted(said: str, secrets: Iterable[str]) -> str:
    """`said` without `secrets`, the longest of them first, and without what looks like a key."""
    for secret in secrets:
        said = said.replace(secret, "***")
    return _KEY_SHAPES.sub("***", said)
