"""Landings where there is no git: file by file, since nobody merges lines."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ohm_subagents.contract.workspace import Conflict, Landing
from ohm_subagents.workspaces.depot import differing
from ohm_subagents.workspaces.landing_steps import made
from ohm_subagents.workspaces.replacement import Change, Landed
from ohm_subagents.workspaces.work import LANDED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from ohm_subagents.workspaces.depot import Depot, Manifest

_BOTH: Final = "both have changed it, and without git no lines are merged"


async def land_copy(depot: Depot, step: Callable[[str], None], landed: Landed, base: str) -> Landing:
    """Make the changes of a task to the files as they are now, all of them or none."""
    now = await depot.snapshot()
    changes, conflicts = await to_thread.run_sync(_compared, depot, base, now, landed.commit)
    if conflicts:
        return Landing(ref=landed.ref.removesuffix(LANDED), conflicts=conflicts)
    return await made(
        depot.source,
        changes,
        landed,
        stage=lambda new: to_thread.run_sync(_stage, depot, changes, new),
        record=lambda: to_thread.run_sync(depot.refer, landed.ref, landed.commit),
        step=step,
    )


def _compared(depot: Depot, before: str, tree: str, done: str) -> tuple[list[Change], tuple[Conflict, ...]]:
    base, now, work = (depot.manifest(one) for one in (before, tree, done))
    changes = [
        Change(path=path, old=now.get(path), new=work.get(path))
        for path in differing(base, work)
        if now.get(path) != work.get(path)
    ]
    return changes, tuple(_conflicts(base, now, work))


def _stage(depot: Depot, changes: list[Change], new: Path) -> None:
    for change in changes:
        if change.new is not None:
            depot.put(change.new, new / os.fsdecode(change.path))


def _conflicts(base: Manifest, now: Manifest, work: Manifest) -> Iterator[Conflict]:
    for path in differing(base, work):
        if now.get(path) not in (base.get(path), work.get(path)):
            yield Conflict(path=path.decode("utf-8", "backslashreplace"), reason=_BOTH)
