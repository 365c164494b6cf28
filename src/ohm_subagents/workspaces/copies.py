"""Workspaces where there is no git: copies of the files, and manifests of what they were."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.workspaces.clone import OpenClone
from ohm_subagents.workspaces.depot import Depot, differing, tree_id
from ohm_subagents.workspaces.failure import WorkspaceError, error_of
from ohm_subagents.workspaces.interruption import is_interrupted, landing_alone, mended
from ohm_subagents.workspaces.notes import read_note
from ohm_subagents.workspaces.patches import counted, patch
from ohm_subagents.workspaces.places import directory_below, within
from ohm_subagents.workspaces.source import source_of
from ohm_subagents.workspaces.task_workspaces import TaskWorkspaces
from ohm_subagents.workspaces.work import BASE, LANDED, Beginning, Parent, Work, landed_of_gone, ref_of, taken_over

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
    from pathlib import Path

    from ohm_subagents.contract.errors import OhmError

_INDEX: Final = "index.json"
"""Beside a copy: what its files were when it was made."""


class Copies(TaskWorkspaces):
    """Makes copies of directories for tasks, and keeps what the tasks do to them below the user's cache.

    A tree is what a commit is with git, and the whole directory is in it: nobody reads `.gitignore`.
    """

    async def begin(
        self, directory: Path, task: str, *, after: str = "", is_gone: Callable[[str], bool] = lambda _task: False
    ) -> Result[Beginning, OhmError]:
        """Keep the files of a directory as they are, as with git."""
        try:
            await self._sweep()
            async with self._alone(directory) as depot:
                refs = await to_thread.run_sync(depot.refs)
                gone = landed_of_gone(refs, is_gone)
                parent = await self._seen(depot, gone)
                taken = taken_over(refs, task, after) if after and not {ref_of(task) + BASE} & refs.keys() else {}
                ref = ref_of(task)
                commit = refs.get(ref) or refs.get(ref + BASE) or taken.get(ref)
                for name, tree in (taken or ({} if commit else {ref + BASE: parent.tree})).items():
                    depot.refer(name, tree)
            below = await to_thread.run_sync(within, directory, depot.source.top)
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))
        commit = commit or parent.tree
        return Ok(Beginning(task=task, directory=directory, within=below, commit=commit, parent=parent))

    async def diff(self, directory: Path, task: str) -> Result[bytes, OhmError]:
        """Return what a task has changed, as a patch; of files that are not text, that they differ."""
        try:
            await self._sweep()
            depot = await self._depot(directory)
            return Ok(await to_thread.run_sync(_patch_of, depot, task))
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))

    async def forget(self, directory: Path, task: str) -> Result[None, OhmError]:
        """Remove what a task began with if it has changed nothing."""
        try:
            depot = await self._depot(directory)
            if depot.kept(task).work is None:
                depot.refer(ref_of(task) + BASE, None)
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))
        return Ok(None)

    async def parent(self, directory: Path) -> Result[Parent, OhmError]:
        """Look at the files that no task in a copy may change."""
        try:
            tree = await to_thread.run_sync(tree_id, directory)
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))
        return Ok(Parent(head="", refs={}, kept={}, index="", tree=tree))

    async def changed(self, beginning: Beginning) -> list[str]:
        """Name the files that have changed since a task began, and have not landed."""
        if beginning.parent is None:
            return []
        try:
            depot = await self._depot(beginning.directory)
            return await _changes(depot, beginning.parent)
        except (WorkspaceError, OSError) as why:
            return [f"its files ({error_of(why).message.rstrip('.')})"]

    @asynccontextmanager
    async def _alone(self, directory: Path) -> AsyncGenerator[Depot]:
        """Keep others out, and finish or take back a landing that was interrupted."""
        depot = await self._depot(directory)
        async with landing_alone(depot.source):
            if is_interrupted(depot.source):
                await mended(depot)
            yield depot

    async def _made(self, beginning: Beginning, place: Path) -> OpenClone:
        top, depot = place / "tree", await self._depot(beginning.directory)
        await depot.write_out(beginning.commit, top, place / _INDEX)
        directory = await to_thread.run_sync(directory_below, top, beginning.within)
        return OpenClone(top, directory, await self._work_left(beginning, place))

    async def _keep(self, directory: Path, task: str, work: bytes) -> None:
        depot = await self._depot(directory)
        await to_thread.run_sync(depot.keep, ref_of(task), work.decode())

    async def _kept(self, directory: Path, task: str) -> Work | None:
        depot = await self._depot(directory)
        return await to_thread.run_sync(_work_of, depot, task)

    async def _include(self, beginning: Beginning, includes: Sequence[str], top: Path) -> None:
        """Do nothing: all files are there."""

    async def _work_left(self, beginning: Beginning, place: Path) -> Callable[[], Awaitable[bytes]]:
        depot = await self._depot(beginning.directory)

        async def work() -> bytes:
            tree = await depot.snapshot_of(place / "tree", place / _INDEX)
            return b"" if tree == beginning.commit else tree.encode()

        return work

    async def _seen(self, depot: Depot, gone: Iterable[str]) -> Parent:
        for ref in gone:
            depot.refer(ref, None)
        tree = await depot.snapshot()
        if not depot.refs() and not await to_thread.run_sync(self._is_open, depot.source.top):
            tree = await depot.cleared(tree)
        return Parent(head="", refs={}, kept=depot.refs(), index="", tree=tree)

    def _is_open(self, top: Path) -> bool:
        """Return True if a task has a clone: one that has done nothing has no reference any more, and looks back."""
        notes = [read_note(place) for place in self._clones.iterdir()]
        return any(note is not None and note.directory.resolve().is_relative_to(top) for note in notes)

    async def _depot(self, directory: Path) -> Depot:
        return await to_thread.run_sync(_depot, self._root / "copies", self._clones, directory)


def _depot(root: Path, drafts: Path, directory: Path) -> Depot:
    found = source_of(directory)
    top = found.top if found is not None else directory.resolve()
    return Depot(root / sha256(os.fsencode(top)).hexdigest()[:32], top, drafts=drafts)


def _work_of(depot: Depot, task: str) -> Work | None:
    work, base, landed = depot.kept(task)
    if work is None:
        return None
    trees = [depot.manifest(tree or work) for tree in (base, work)]
    added, removed = counted(depot, *trees)
    files = len(differing(*trees))
    return Work(
        base=base or "", ref=ref_of(task), files=files, insertions=added, deletions=removed, has_landed=work == landed
    )


def _patch_of(depot: Depot, task: str) -> bytes:
    work, base, _ = depot.kept(task)
    return b"" if work is None else patch(depot, depot.manifest(base or ""), depot.manifest(work))


async def _changes(depot: Depot, before: Parent) -> list[str]:
    tree = await depot.snapshot()
    return await to_thread.run_sync(_named, depot, before, tree)


def _named(depot: Depot, before: Parent, tree: str) -> list[str]:
    refs = depot.refs()
    if tree == before.tree:
        return []
    landed = set[bytes]()
    for name, work in refs.items() - before.kept.items():
        if name.endswith(LANDED):
            since = before.kept.get(name) or refs[name.removesuffix(LANDED) + BASE]
            landed.update(differing(depot.manifest(since), depot.manifest(work)))
    names = differing(depot.manifest(before.tree), depot.manifest(tree))
    return [name.decode("utf-8", "backslashreplace") for name in names if name not in landed]
