"""What somebody else wrote, fit to be shown: one line, no keys, shortened."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_KEY_SHAPES: Final = re.compile(r"(?:\bsk-|\bgsk_|\bxai-|\bAIza|\bBearer\s+)[\w*.\-]{4,}")
_MAX_CHARS: Final = 300


def quoted(said: str, secrets: Iterable[str] = ()) -> str:
    """`said` on one line without its last full stop; `secrets`, and what looks like a key, are cut out of it."""
    for secret in secrets:
        said = said.replace(secret, "***")
    said = " ".join(_KEY_SHAPES.sub("***", said).split()).rstrip(".")
    return f"{said[:_MAX_CHARS]}…" if len(said) > _MAX_CHARS else said
