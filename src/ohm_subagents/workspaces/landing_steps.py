"""The steps of a landing: new files are staged, all are replaced, and that is recorded; or nothing of it is done."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from ohm_subagents.contract.workspace import Landing
from ohm_subagents.workspaces.interruption import place_of
from ohm_subagents.workspaces.places import remove
from ohm_subagents.workspaces.replacement import JOURNAL, Replacement, forget, take_back
from ohm_subagents.workspaces.work import LANDED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from ohm_subagents.workspaces.replacement import Change, Landed
    from ohm_subagents.workspaces.source import Source


async def made(
    source: Source,
    changes: Sequence[Change],
    landed: Landed,
    *,
    stage: Callable[[Path], Awaitable[object]],
    record: Callable[[], Awaitable[object]],
    step: Callable[[str], None],
) -> Landing:
    """Make changes to the files of a source, and record it; nothing of both if something is in the way.

    `stage` writes the new files into a directory, and `record` has the reference be what has landed. It is not
    interrupted by a cancellation.
    """
    top, place, ref = source.top, place_of(source), landed.ref.removesuffix(LANDED)
    replacement = Replacement(top, place, changes, step=step)
    conflicts = await to_thread.run_sync(lambda: tuple(replacement.obstacles()))
    if conflicts:
        return Landing(ref=ref, conflicts=conflicts)
    with anyio.CancelScope(shield=True):
        try:
            await to_thread.run_sync(_make, place)
            await stage(place / "new")
            step("staged")
            await to_thread.run_sync(replacement.make, landed)
            try:
                step("all replaced")
                await record()
            except BaseException:
                await to_thread.run_sync(take_back, top, place)
                raise
        except BaseException:
            await to_thread.run_sync(_unstage, place)
            raise
        step("recorded")
        with suppress(OSError):  # it has landed; what is left of the way there, the next look removes
            await to_thread.run_sync(replacement.tidy)
            await to_thread.run_sync(forget, place)
    return Landing(ref=ref, files=tuple(one.path.decode("utf-8", "backslashreplace") for one in changes))


def _make(place: Path) -> None:
    (place / "new").mkdir(parents=True)
    place.chmod(0o700)
    (place / ".gitignore").write_text("*\n")


def _unstage(place: Path) -> None:
    """Remove the directory of a landing that has replaced nothing; another one has files that were taken out."""
    if not os.path.lexists(place / JOURNAL):
        remove(place)
