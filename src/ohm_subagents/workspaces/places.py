"""Private directories below the user's cache, removed at their end, or after the process that made them has died."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from ohm_subagents._concurrency.file_lock import try_lock
from ohm_subagents.workspaces.failure import WorkspaceError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


@asynccontextmanager
async def private_directory(root: Path, name: str = "") -> AsyncGenerator[Path]:
    """Hold a directory of its own below `root` until the context is left, which removes it with all that is in it.

    It has this name if nobody else has it.
    """
    with ExitStack() as held:
        try:
            place = _taken(root, held, name)
            place.mkdir(mode=0o700, parents=True)
        except OSError as error:
            unmade = f"No workspace can be made below '{root}': {error.strerror or error}."
            raise WorkspaceError(unmade) from None
        try:
            yield place
        finally:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(remove, place)
            place.with_suffix(".lock").unlink(missing_ok=True)  # where no lock is possible, nothing else does


def _taken(root: Path, held: ExitStack, name: str) -> Path:
    """Return a directory that is not there yet, and whose name nobody else has."""
    while True:
        place, name = root / (name or token_hex(8)), ""
        if not os.path.lexists(place) and held.enter_context(try_lock(place.with_suffix(".lock"))):
            return place


def remove(directory: Path) -> None:
    """Remove a directory, whatever its run has done to the rights of what is in it."""
    left = [directory]
    while left:
        with suppress(OSError):
            folder = left.pop()
            folder.chmod(0o700)
            left += [Path(entry) for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    shutil.rmtree(directory, ignore_errors=True)


def settle(directory: Path) -> None:
    """Wait until the files of a directory, and their names, are on the disk."""
    for one in (*directory.iterdir(), directory):
        with suppress(FileNotFoundError):  # what is removed meanwhile is of no use
            opened = os.open(one, os.O_RDONLY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)


def within(directory: Path, top: Path) -> str:
    """Return a directory as it is called below another one; empty for the same."""
    within = f"{directory.resolve().relative_to(top)}"
    return "" if within == "." else within


def directory_below(top: Path, within: str) -> Path:
    """Return a directory in a clone, which is made if the files are in others."""
    directory = (top / within).resolve()
    if not directory.is_relative_to(top.resolve()):
        outside = f"'{within}' is no directory of a workspace."
        raise WorkspaceError(outside)
    make_directory(directory)
    return directory


def make_directory(directory: Path) -> None:
    """Make a private directory, and those above it."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
