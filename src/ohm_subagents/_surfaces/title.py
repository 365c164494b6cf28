"""The description of a task in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ohm_subagents._views.redaction import Redaction

MAX_CHARS: Final = 60


def title_of(task: str, redaction: Redaction) -> str:
    """Return the first line of a task, at most `MAX_CHARS`; redacted first, since half a secret is not recognised."""
    first_line, *_ = redaction.text(task).strip().split("\n")
    return first_line if len(first_line) <= MAX_CHARS else f"{first_line[: MAX_CHARS - 1]}…"
