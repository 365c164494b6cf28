"""Landings where there is no git: file by file, since nobody merges lines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from ohm_subagents.contract.workspace import Conflict, Landing
from ohm_subagents.workspaces.depot import differing
from ohm_subagents.workspaces.interruption import place_of
from ohm_subagents.workspaces.places import remove
from ohm_subagents.workspaces.replacement import Change, Landed, Replacement, forget, take_back
from ohm_subagents.workspaces.work import LANDED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ohm_subagents.workspaces.depot import Depot, Manifest

_BOTH: Final = "both have changed it, and without git no lines are merged"


async def land_copy(depot: Depot, step: Callable[[str], None], landed: Landed, base: str) -> Landing:
    """Make the changes of a task to the files as they are now, all of them or none."""
    now = await depot.snapshot()
    landing = Landing(ref=landed.ref)
    with anyio.CancelScope(shield=True):
        landing = await to_thread.run_sync(_land, depot, landed, base, now, step)
    return landing  # noqa: RET504  mypy takes a scope to swallow what is raised in it


def _land(depot: Depot, landed: Landed, before: str, tree: str, step: Callable[[str], None]) -> Landing:
    ref = landed.ref.removesuffix(LANDED)
    base, now, work = (depot.manifest(one) for one in (before, tree, landed.commit))
    conflicts = tuple(_conflicts(base, now, work))
    if conflicts:
        return Landing(ref=ref, conflicts=conflicts)
    changes = [
        Change(path=path, old=now.get(path), new=work.get(path))
        for path in differing(base, work)
        if now.get(path) != work.get(path)
    ]
    top, place = depot.source.top, place_of(depot.source)
    replacement = Replacement(top, place, changes, step=step)
    conflicts = tuple(replacement.obstacles())
    if conflicts:
        return Landing(ref=ref, conflicts=conflicts)
    try:
        (place / "new").mkdir(parents=True)
        place.chmod(0o700)
        for change in changes:
            if change.new is not None:
                depot.put(change.new, place / "new" / os.fsdecode(change.path))
        step("staged")
        replacement.make(landed)
    except BaseException:
        remove(place)
        raise
    try:
        step("all replaced")
        depot.refer(landed.ref, landed.commit)
    except BaseException:
        take_back(top, place)
        raise
    step("recorded")
    replacement.tidy()
    forget(place)
    return Landing(ref=ref, files=tuple(one.path.decode("utf-8", "backslashreplace") for one in changes))


def _conflicts(base: Manifest, now: Manifest, work: Manifest) -> Iterator[Conflict]:
    for path in differing(base, work):
        if now.get(path) not in (base.get(path), work.get(path)):
            yield Conflict(path=path.decode("utf-8", "backslashreplace"), reason=_BOTH)
