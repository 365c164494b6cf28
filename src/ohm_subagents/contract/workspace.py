"""The work of a subagent on files of its own: kept apart from those of its parent until somebody takes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

Landed = Literal["no", "clean", "conflict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceKept:
    """The files that the task has changed in a workspace of its own, in all runs so far, are kept."""

    TEXTS: ClassVar[tuple[str, ...]] = ()
    base: str
    """The id of the commit that the task began with."""
    ref: str
    """The reference in the repository of the working directory that keeps them, on top of the base."""
    files: int
    """The number of files that differ."""
    insertions: int
    """The number of lines that were added."""
    deletions: int
    """The number of lines that were removed."""
    landed: Landed = "no"
    """`clean` once they are in the files of the parent too; `conflict` where that was tried in vain."""
    kind: Literal["workspace_kept"] = "workspace_kept"
