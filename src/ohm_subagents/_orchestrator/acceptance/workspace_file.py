"""Look at a file of a workspace, and at no other: no link leads out, not even one put there meanwhile."""

from __future__ import annotations

import os
import stat
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ASTRAY: Final = "It leads out of the workspace."
_MISSING: Final = "There is no such file."


def file_fault(workspace: Path, path: str) -> str | None:
    """Return why a path is no file of a workspace that holds something; None if it is one."""
    try:
        top, real = os.path.realpath(workspace), os.path.realpath(workspace / path)
        parts = PurePath(os.path.relpath(real, top)).parts
        if not parts or ".." in parts:
            return _ASTRAY
        found = _stat_below(top, parts)
    except FileNotFoundError:
        return _MISSING
    except (OSError, ValueError) as error:
        return f"It cannot be read: {getattr(error, 'strerror', None) or error}."
    if not stat.S_ISREG(found.st_mode):
        return "It is no file."
    return None if found.st_size else "It is empty."


def _stat_below(top: str, parts: tuple[str, ...]) -> os.stat_result:
    """Return what a path without links is, step by step from an open directory."""
    handle = os.open(top, _DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _DIRECTORY, dir_fd=handle)
            os.close(handle)
            handle = inner
        found = os.stat(parts[-1], dir_fd=handle, follow_symlinks=False)
    finally:
        os.close(handle)
    return found
