"""Failures for a caller who does not know the id of the task."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ohm_subagents.contract.errors import OhmError

_BACKEND = "backend failed: "


def plain_failure(error: OhmError, *, who: str) -> OhmError:
    """Return the failure with `who` in place of the task's id."""
    told = error.message.removeprefix(f"Task {error.task_id} ")
    if error.task_id is None or told == error.message:
        return error
    failed = told.removeprefix(_BACKEND)
    return replace(error, message=f"{who} {told}" if failed == told else f"{who} failed: {failed}")
