"""Files that are known again without being read: by their times, inodes, owners and sizes.

A file whose mtime was put back after a change has another ctime.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ohm_subagents.workspaces.failure import refuse_much
from ohm_subagents.workspaces.packing import Facts, facts_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Entry: TypeAlias = Sequence[Any]
"""The mode of a file, the id of its content, and its `Facts`, as JSON has them: of 50,000, none is made twice."""
_SKIPPED: Final = frozenset({b".git", b".ohm-landing"})


class Known(NamedTuple):
    """The files below a directory as they were."""

    tree: str
    """The id of their tree; empty if not all of them are known again."""
    size: int
    """The bytes that all of them have."""
    files: Mapping[str, Entry]
    """Those of them that are known again."""


def read_known(index: Path) -> Known:
    """Return the files that an index knows; none where there is no index, or a damaged one."""
    try:
        return Known(*json.loads(index.read_bytes()))
    except (FileNotFoundError, TypeError, ValueError):
        return Known("", 0, {})


def found_below(top: Path) -> dict[str, Facts]:
    """Return the files and links below a directory, without any `.git` and `.ohm-landing`, however they are written."""
    within, folders, found = os.fsencode(top) + b"/", [b""], dict[str, Facts]()
    while folders:
        folder = folders.pop()
        with suppress(FileNotFoundError), os.scandir(within + folder) as entries:  # what is removed meanwhile is gone
            for entry in entries:
                if entry.name.lower() in _SKIPPED:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(folder + entry.name + b"/")
                    continue
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                        found[os.fsdecode(folder + entry.name)] = facts_of(status)
    size = sum(facts[-1] for facts in found.values())
    refuse_much(top, size, "files", "Install git, and have files ignored by .gitignore.")
    return found
