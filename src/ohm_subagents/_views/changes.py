"""The files that a task has changed in a clone, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._views.quantities import counted

if TYPE_CHECKING:
    from ohm_subagents.contract.envelope_parts import WorkspaceBlock
    from ohm_subagents.contract.workspace import WorkspaceKept


def changes_text(changes: WorkspaceKept | WorkspaceBlock) -> str:
    """Return the number of files and lines, such as `2 files, +10 -3`."""
    return f"{counted(changes.files, 'file')}, +{changes.insertions} -{changes.deletions}"
