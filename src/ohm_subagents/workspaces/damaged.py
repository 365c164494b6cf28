"""Repositories of ours that a loss of power or a full disk has damaged."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from ohm_subagents.workspaces.packing import whole_index

if TYPE_CHECKING:
    from pathlib import Path

    from ohm_subagents.workspaces.source import Source


def forget_damaged(source: Source) -> None:
    """Remove what is damaged in a repository, if it is ours: its files are then all read anew.

    It is seen by sums of indexes and by what files end with; no content is read. Git has no word for most of it, and
    would never write again what it takes to be there. What only a task had is missing, and git says so.
    """
    if not source.is_ours:
        return
    index = source.git_dir / "index"
    damaged = [one for one in (source.objects / "pack").glob("*.idx") if not whole_index(f"{one}")]
    damaged += [one for one in source.objects.glob("??/[0-9a-f]*") if _is_empty(one)]
    if damaged or not _is_whole(index):
        index.unlink(missing_ok=True)
    for one in damaged:
        one.unlink(missing_ok=True)
        if one.suffix:
            one.with_suffix(".pack").unlink(missing_ok=True)


def _is_empty(file: Path) -> bool:
    try:
        return not file.stat().st_size
    except FileNotFoundError:  # another process has removed it
        return False


def _is_whole(index: Path) -> bool:
    try:
        written = index.read_bytes()
    except FileNotFoundError:
        return True
    return hashlib.sha1(written[:-20]).digest() == written[-20:]  # noqa: S324  git's own
