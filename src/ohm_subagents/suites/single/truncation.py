"""Cut an answer for the caller to lines and bytes, below a header that says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_BYTES: Final = 200 * 1024
MAX_LINES: Final = 5000
_UNIT: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """A cut text with its header: `lines` of `of_lines`."""

    text: str
    lines: int
    of_lines: int


def cut(text: str) -> Cut | None:
    """Cut a text that is too long, never inside a character; return None for any other."""
    whole = text.encode("utf-8", "surrogatepass")
    lines = text.split("\n")
    if len(whole) <= MAX_BYTES and len(lines) <= MAX_LINES:
        return None
    kept = "\n".join(lines[:MAX_LINES]).encode("utf-8", "surrogatepass")[:MAX_BYTES].decode("utf-8", "ignore")
    shown = kept.count("\n") + 1
    sizes = f"{size_text(len(kept.encode()))} of {size_text(len(whole))}"
    header = f"[TRUNCATED: showing first {shown} of {len(lines)} lines, {sizes}]"
    return Cut(text=f"{header}\n{kept}", lines=shown, of_lines=len(lines))


def size_text(count: int) -> str:
    """Write a number of bytes: `512B`, `9.8KB`, `1.2MB`."""
    if count < _UNIT:
        return f"{count}B"
    return f"{count / _UNIT:.1f}KB" if count < _UNIT**2 else f"{count / _UNIT**2:.1f}MB"
