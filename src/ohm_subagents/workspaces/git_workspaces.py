"""Workspaces by git: what a directory was when a task began, and what a task did, in references of its repository."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

from anyio import to_thread

from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.workspaces.clone import PLAINLY, Clone, OpenClone, bundled, unpacked
from ohm_subagents.workspaces.damaged import forget_damaged
from ohm_subagents.workspaces.failure import WorkspaceError, error_of
from ohm_subagents.workspaces.git import Git
from ohm_subagents.workspaces.included import include
from ohm_subagents.workspaces.interruption import is_interrupted, landing_alone, mended
from ohm_subagents.workspaces.parent import changes, seen
from ohm_subagents.workspaces.places import directory_below, make_directory, private_directory, settle, within
from ohm_subagents.workspaces.snapshot import committed, head_of
from ohm_subagents.workspaces.source import Source, is_repository, source_of
from ohm_subagents.workspaces.task_workspaces import TaskWorkspaces, root_of
from ohm_subagents.workspaces.unkept import saved
from ohm_subagents.workspaces.view import View
from ohm_subagents.workspaces.work import (
    BASE,
    Beginning,
    Parent,
    Work,
    forget_landed,
    kept_of,
    ref_of,
    take_over,
    work_of,
)


class GitWorkspaces(TaskWorkspaces):
    """Makes clones of directories for tasks, and keeps what the tasks do to them in the repository of the directory.

    Of a repository, nothing changes but its objects and two references: `refs/ohm/<task>.base` keeps what the task
    began with, and `refs/ohm/<task>` what it did. A directory that is in none has one of ours below `root`. No setting,
    hook or filter of a repository runs.
    """

    def __init__(self, root: Path, env: Mapping[str, str]) -> None:
        """Keep everything below `root`, and find git, the home and the user's ignored files by `env`."""
        super().__init__(root)
        self._git = Git(env)

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Result[GitWorkspaces, OhmError]:
        """Return those below the user's cache; Err if `env` names neither that nor a home."""
        root = root_of(env)
        return root if isinstance(root, Err) else Ok(cls(root.ok_value, env))

    async def begin(
        self, directory: Path, task: str, *, after: str = "", is_gone: Callable[[str], bool] = lambda _task: False
    ) -> Result[Beginning, OhmError]:
        """Keep the files of a directory as they are, in a commit."""
        ref = ref_of(task)
        try:
            await self._sweep()
            await to_thread.run_sync(forget_damaged, await self._source(directory))
            async with self._viewed(directory) as view:
                parent = await seen(view)
                await forget_landed(view, parent.kept, is_gone)
                commit = parent.kept.get(ref) or parent.kept.get(ref + BASE)
                if commit is None and after:
                    commit = await take_over(view, task, after, parent.kept)
                if commit is None:
                    told = "Files that the task began with"
                    commit = await committed(view, parent.tree, told, head=await head_of(view))
                    await view.run("update-ref", "--no-deref", ref + BASE, commit)
                below = await to_thread.run_sync(within, directory, view.source.top)
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))
        return Ok(Beginning(task=task, directory=directory, within=below, commit=commit, parent=parent))

    async def bundle(self, beginning: Beginning) -> Result[bytes, OhmError]:
        """Return the files as a git bundle, for a clone anywhere. Their history is not in it."""
        try:
            async with self._viewed(beginning.directory) as view:
                (view.directory / "shallow").write_text(f"{beginning.commit}\n")
                return Ok(await bundled(view, beginning.commit))
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))

    async def keep(self, directory: Path, task: str, work: bytes) -> Result[Work, OhmError]:
        """Keep the bundle that a clone returned. Where that is impossible, the error names a file that has it."""
        try:
            await self._keep(directory, task, work)
            kept = await self._kept(directory, task)
        except (WorkspaceError, OSError) as why:
            return Err(await to_thread.run_sync(saved, self._root, task, work, why))
        return Ok(kept) if kept is not None else Err(WorkspaceError(f"The work of task '{task}' is gone.").error)

    async def diff(self, directory: Path, task: str) -> Result[bytes, OhmError]:
        """Return what a task has changed, as a patch that `git apply` takes; nothing if nothing is kept of it."""
        ref = ref_of(task)
        try:
            await self._sweep()
            async with self._viewed(directory) as view:
                if (await kept_of(view, task)).work is None:
                    return Ok(b"")
                return Ok((await view.run("diff", *_PATCH, ref + BASE, ref, "--")).stdout)
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))

    async def forget(self, directory: Path, task: str) -> Result[None, OhmError]:
        """Remove what a task began with if it has changed nothing."""
        try:
            async with self._viewed(directory) as view:
                if (await kept_of(view, task)).work is None:
                    await view.run("update-ref", "--no-deref", "-d", ref_of(task) + BASE)
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))
        return Ok(None)

    async def parent(self, directory: Path) -> Result[Parent, OhmError]:
        """Look at what no task in a clone may change."""
        try:
            async with self._viewed(directory) as view:
                return Ok(await seen(view))
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))

    async def changed(self, beginning: Beginning) -> list[str]:
        """Name what of it has changed since a task began, and has not landed."""
        if beginning.parent is None:
            return []
        try:
            async with self._viewed(beginning.directory) as view:
                return await changes(view, beginning.parent)
        except (WorkspaceError, OSError) as why:
            return [f"its repository ({error_of(why).message.rstrip('.')})"]

    @asynccontextmanager
    async def clone_of(self, bundle: bytes, within: str) -> AsyncGenerator[Result[OpenClone, OhmError]]:
        """Hold a clone of what `bundle` returned."""
        async with self._held() as place:
            yield place if isinstance(place, Err) else await self._unpacked(place.ok_value, bundle, within)

    async def _unpacked(self, place: Path, bundle: bytes, within: str) -> Result[OpenClone, OhmError]:
        try:
            origin, base = await unpacked(self._git, bundle, place / "origin")
            return Ok(await self._cloned(origin, base, within, place))
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))

    async def _made(self, beginning: Beginning, place: Path) -> OpenClone:
        origin = await self._source(beginning.directory)
        return await self._cloned(origin, beginning.commit, beginning.within, place)

    async def _cloned(self, origin: Source, base: str, within: str, place: Path) -> OpenClone:
        clone = await Clone.made(self._git, origin, base, place / "tree")
        directory = await to_thread.run_sync(directory_below, clone.top, within)
        return OpenClone(clone.top, directory, partial(clone.work, place / "view"), borrows=(origin.objects,))

    async def _keep(self, directory: Path, task: str, work: bytes) -> None:
        async with self._viewed(directory) as view:
            if view.source.is_ours:
                await to_thread.run_sync(settle, view.source.objects / "pack")
            file = view.directory / "bundle"
            await to_thread.run_sync(file.write_bytes, work)
            await view.run("fetch", *PLAINLY, f"{file}", f"+HEAD:{ref_of(task)}")

    async def _kept(self, directory: Path, task: str) -> Work | None:
        async with self._viewed(directory) as view:
            return await work_of(view, task)

    async def _include(self, beginning: Beginning, includes: Sequence[str], top: Path) -> None:
        async with self._viewed(beginning.directory) as view:
            await include(view, includes, top)

    @asynccontextmanager
    async def _alone(self, directory: Path) -> AsyncGenerator[View]:
        async with self._viewed(directory, writes=False) as view, landing_alone(view.source):
            if is_interrupted(view.source):
                await mended(view)
            yield view

    @asynccontextmanager
    async def _viewed(self, directory: Path, *, writes: bool = True) -> AsyncGenerator[View]:
        """Look at the repository of a directory; objects, and an index of ours, are kept only if the view writes."""
        async with private_directory(self._clones) as place:
            source = await self._source(directory)
            view = await View.opened(self._git, source, place / "view", objects=None if writes else place / "objects")
            if is_interrupted(source):
                async with landing_alone(source):
                    await mended(view)
            yield view

    async def _work_left(self, beginning: Beginning, place: Path) -> Callable[[], Awaitable[bytes]]:
        origin = await self._source(beginning.directory)
        clone = Clone(origin=origin, base=beginning.commit, top=place / "tree", git=self._git)
        return partial(clone.work, place / "view")

    async def _source(self, directory: Path) -> Source:
        """Return the repository of a directory, which is one of ours where there is none."""
        found = await to_thread.run_sync(source_of, directory)
        if found is not None:
            return found
        top = await to_thread.run_sync(directory.resolve)
        ours = self._root / "repositories" / sha256(os.fsencode(top)).hexdigest()[:32]
        if not is_repository(ours):
            await to_thread.run_sync(make_directory, ours)
            await self._git.run("init", "-q", "--bare", "--template=", "-b", "main", f"{ours}", cwd=ours)
        return Source(top=top, git_dir=ours, common_dir=ours, is_ours=True)


_PATCH: Final = ("--no-ext-diff", "--no-textconv", "--no-color", "--binary", "--full-index")
