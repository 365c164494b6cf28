"""The failure of a workspace."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.errors import ErrorCode, OhmError

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES: Final = 2 * 2**30
"""Bytes of files that are copied for a task; what is larger is seldom meant to be."""


class WorkspaceError(Exception):
    """A workspace cannot be made, or what was done in it cannot be kept. Inside of this room only."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice

    @property
    def error(self) -> OhmError:
        """The failure as a value."""
        return OhmError(code=ErrorCode.WORKSPACE_FAILED, message=f"{self}", advice=self.advice)


def error_of(why: Exception) -> OhmError:
    """Return a failure of this room, or of the system below it, as a value."""
    if isinstance(why, WorkspaceError):
        return why.error
    if not isinstance(why, OSError) or not why.strerror:
        return WorkspaceError(f"The files cannot be written: {why}.").error
    named = why.filename2 or why.filename  # of two, the one that is written
    where = f": '{os.fsdecode(named)}'" if isinstance(named, str | bytes) else ""
    return WorkspaceError(f"The files cannot be written{where} ({why.strerror}).").error


def refuse_much(top: Path, size: int, files: str, advice: str) -> None:
    """Raise `WorkspaceError` if files of a directory, called so, have more bytes than are copied."""
    if size > MAX_BYTES:
        much = f"'{top}' has {size / 2**30:.1f} GiB in {files}; at most {MAX_BYTES // 2**30} GiB are copied."
        raise WorkspaceError(much, advice)
