"""What a task is called where there is room for a line of it only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ohm_subagents._views.redaction import Redaction

MAX_CHARS: Final = 60


def title_of(task: str, redaction: Redaction) -> str:
    """The first line of a task, at most `MAX_CHARS` of it; cut without its secrets, for half of one is not found."""
    first_line, *_ = redaction.text(task).strip().split("\n")
    return first_line if len(first_line) <= MAX_CHARS else f"{first_line[: MAX_CHARS - 1]}…"
