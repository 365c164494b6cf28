"""Ignored files that a clone has all the same, because the configuration lists them."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ohm_subagents.workspaces import block_sharing
from ohm_subagents.workspaces.working_files import WorkingFiles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ohm_subagents.workspaces.view import View

_LISTED: Final = ("ls-files", "-o", "-i", "--exclude-standard", "-z", "--")


async def include(view: View, patterns: Sequence[str], top: Path) -> None:
    """Copy the ignored files of a working tree that match a pattern, as git reads them, into a clone of it.

    A nested repository is left out, and so is what the clone has in the way: nothing there is replaced, and no link is
    followed.
    """
    told = await view.run(*_LISTED, *(f":(top,glob){one}" for one in patterns))
    names = [name for name in told.stdout.split(b"\0") if name and not name.endswith(b"/")]
    await to_thread.run_sync(_copy_all, WorkingFiles(view.source.top), WorkingFiles(top), names)


def _copy_all(files: WorkingFiles, clone: WorkingFiles, names: Sequence[bytes]) -> None:
    for name in names:
        with suppress(FileExistsError, FileNotFoundError, NotADirectoryError, PermissionError):
            _copy(files, clone, name)


def _copy(files: WorkingFiles, clone: WorkingFiles, path: bytes) -> None:
    with files.folder(path) as (source, name), clone.folder(path, make=True) as (target, _):
        status = os.stat(name, dir_fd=source, follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
        elif stat.S_ISREG(status.st_mode):
            with (
                os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=source), "rb") as old,
                os.fdopen(os.open(name, _NEW, stat.S_IMODE(status.st_mode) & 0o777, dir_fd=target), "wb") as new,
            ):
                block_sharing.fill(old.fileno(), new.fileno())
                os.utime(new.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))


_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
