"""Files for their owner alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read; text that UTF-8 cannot encode becomes `?`. Raises `OSError`."""
    with open(path, "wb", opener=_for_us_alone) as file:
        file.write(text.encode("utf-8", "replace"))


def _for_us_alone(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
