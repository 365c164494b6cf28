"""Landings one after another, and what one leaves whose process was killed."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, Protocol

from anyio import to_thread

from ohm_subagents._concurrency.file_lock import locked
from ohm_subagents.workspaces.failure import WorkspaceError
from ohm_subagents.workspaces.places import remove
from ohm_subagents.workspaces.replacement import Landed, forget, journal_of, take_back

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from ohm_subagents.workspaces.source import Source

_NAME: Final = "ohm-landing"


def place_of(source: Source) -> Path:
    """Return the directory of a landing: in the repository, or hidden in the tree if that is on another file system."""
    is_near = source.git_dir.stat().st_dev == source.top.stat().st_dev
    return source.git_dir / _NAME if is_near else source.top / f".{_NAME}"


@asynccontextmanager
async def landing_alone(source: Source) -> AsyncGenerator[None]:
    """Wait until no other process lands in a repository, and keep them all out. Raises `WorkspaceError`."""
    async with locked(source.common_dir / f"{_NAME}.lock") as error:
        if error is not None:
            unlocked = f"Nothing can be landed in '{source.top}': {error.strerror or error}."
            raise WorkspaceError(unlocked)
        yield


def is_interrupted(source: Source) -> bool:
    """Return True if a landing goes on there, or has left something."""
    return os.path.lexists(place_of(source))


class Ground(Protocol):
    """Files among which work lands, and what is recorded of it."""

    @property
    def source(self) -> Source:
        """The directories of the files and of the record."""
        ...

    async def commit(self, name: str) -> str | None:
        """Return what a reference stands for."""
        ...


async def mended(view: Ground) -> None:
    """Take back what a landing has left that was killed; one that is recorded is done. The caller keeps others out."""
    place = place_of(view.source)
    if place.is_symlink():
        astray = f"'{place}' is a link, and leads out of the repository."
        raise WorkspaceError(astray, "Remove it.")
    journal = await to_thread.run_sync(journal_of, place)
    match journal:
        case None:
            await to_thread.run_sync(remove, place)
        case Landed(ref=ref, commit=commit) if await view.commit(ref) == commit:
            await to_thread.run_sync(forget, place)
        case _:
            await to_thread.run_sync(take_back, view.source.top, place)
