"""Texts about a task for a caller who does not know its id: its description in one line, and its failure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.redaction.redactor import Redaction

MAX_CHARS: Final = 60
_BACKEND = "backend failed: "


def title_of(task: str, redaction: Redaction) -> str:
    """Return the first line of a task, at most `MAX_CHARS`; redacted first, since half a secret is not recognised."""
    first_line, *_ = redaction.text(task).strip().split("\n")
    return first_line if len(first_line) <= MAX_CHARS else f"{first_line[: MAX_CHARS - 1]}…"


def plain_failure(error: OhmError, *, who: str) -> OhmError:
    """Return the failure with `who` in place of the task's id."""
    said = error.message.removeprefix(f"Task {error.task_id} ")
    if error.task_id is None or said == error.message:
        return error
    failed = said.removeprefix(_BACKEND)
    return replace(error, message=f"{who} {said}" if failed == said else f"{who} failed: {failed}")
