"""The workspaces of tasks: what a directory was when a task began, a clone to work in, and the way back."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

import anyio
from anyio import to_thread

from ohm_subagents._concurrency.file_lock import try_hold
from ohm_subagents._config.env import cache_dir
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.workspaces.clone import PLAINLY, Clone, OpenClone, bundled, unpacked
from ohm_subagents.workspaces.damaged import forget_damaged
from ohm_subagents.workspaces.failure import WorkspaceError, error_of
from ohm_subagents.workspaces.git import Git
from ohm_subagents.workspaces.included import include
from ohm_subagents.workspaces.interruption import is_interrupted, landing_alone, mended
from ohm_subagents.workspaces.notes import read_note, write_note
from ohm_subagents.workspaces.parent import changes, seen
from ohm_subagents.workspaces.places import directory_below, make_directory, private_directory, remove, within
from ohm_subagents.workspaces.snapshot import committed, head_of
from ohm_subagents.workspaces.source import Source, is_repository, source_of
from ohm_subagents.workspaces.unkept import saved, set_aside
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


class GitWorkspaces:
    """Makes clones of directories for tasks, and keeps what the tasks do to them in the repository of the directory.

    Of a repository, nothing changes but its objects and two references: `refs/ohm/<task>.base` keeps what the task
    began with, and `refs/ohm/<task>` what it did. A directory that is in none has one of ours below `root`. No setting,
    hook or filter of a repository runs. What processes left that have died is kept before the next task begins.
    """

    def __init__(self, root: Path, env: Mapping[str, str]) -> None:
        """Keep everything below `root`, and find git, the home and the user's ignored files by `env`."""
        self._root = root
        self._git = Git(env)
        self._sweeping = anyio.Lock()

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Result[GitWorkspaces, OhmError]:
        """Return those below the user's cache; Err if `env` names neither that nor a home."""
        cache = cache_dir(env)
        if cache is None:
            nowhere = "There is no directory for workspaces: neither XDG_CACHE_HOME nor HOME is set."
            return Err(WorkspaceError(nowhere, "Set one of them.").error)
        return Ok(cls(cache / "workspaces", env))

    async def begin(
        self, directory: Path, task: str, *, after: str = "", is_gone: Callable[[str], bool] = lambda _task: False
    ) -> Result[Beginning, OhmError]:
        """Keep the files of a directory as they are. A task that has changed some before goes on with its own.

        So does one that continues another, `after`. Landed work of tasks that are gone is kept no longer.
        """
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

    async def keep(self, directory: Path, task: str, bundle: bytes) -> Result[Work, OhmError]:
        """Keep the work that a clone returned. Where that is impossible, the error names a file that has the bundle."""
        try:
            async with self._viewed(directory) as view:
                file = view.directory / "bundle"
                await to_thread.run_sync(file.write_bytes, bundle)
                await view.run("fetch", *PLAINLY, f"{file}", f"+HEAD:{ref_of(task)}")
                kept = await work_of(view, task)
        except (WorkspaceError, OSError) as why:
            return Err(await to_thread.run_sync(saved, self._root, task, bundle, why))
        return Ok(kept) if kept is not None else Err(WorkspaceError(f"The work of task '{task}' is gone.").error)

    async def keep_clone(self, beginning: Beginning, clone: OpenClone) -> Result[Work | None, OhmError]:
        """Keep what was done in a clone, once; None if the task has changed nothing.

        Where that is impossible, the error names what has the work, a file or a directory.
        """
        work = await clone.work()
        if isinstance(work, Err):
            return Err(await to_thread.run_sync(set_aside, self._root, beginning.task, clone.top, work.err_value))
        if work.ok_value:
            return await self.keep(beginning.directory, beginning.task, work.ok_value)
        try:
            kept = await self._kept(beginning.directory, beginning.task)
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))
        if kept is None:
            forgotten = await self.forget(beginning.directory, beginning.task)
            return forgotten if isinstance(forgotten, Err) else Ok(None)
        return Ok(kept)

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

    async def work(self, directory: Path, task: str) -> Result[Work | None, OhmError]:
        """Return what is kept of a task, first of one whose process has died; None for nothing."""
        try:
            await self._sweep()
            return Ok(await self._kept(directory, task))
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
    async def clone(
        self, beginning: Beginning, name: str = "", *, includes: Sequence[str] = ()
    ) -> AsyncGenerator[Result[OpenClone, OhmError]]:
        """Hold a clone on the machine of the directory, whose objects it borrows.

        Those of one `name` are in the same place, one after the other, so that a program finds its session again.
        Ignored files are in it that match one of `includes`; they are no part of its work.
        """
        async with self._held(name and sha256(name.encode()).hexdigest()[:16]) as place:
            opened = await self._opened(place, beginning.within, beginning)
            try:
                if isinstance(opened, Ok):
                    if includes:
                        await self._include(beginning, includes, opened.ok_value.top)
                    await to_thread.run_sync(write_note, opened.ok_value.top.parent, beginning)
            except (WorkspaceError, OSError) as why:
                opened = Err(error_of(why))
            yield opened

    @asynccontextmanager
    async def clone_of(self, bundle: bytes, within: str) -> AsyncGenerator[Result[OpenClone, OhmError]]:
        """Hold a clone of what `bundle` returned."""
        async with self._held() as place:
            yield await self._opened(place, within, bundle)

    async def _opened(
        self, place: Result[Path, OhmError], within: str, begun: Beginning | bytes
    ) -> Result[OpenClone, OhmError]:
        if isinstance(place, Err):
            return place
        here = place.ok_value
        try:
            if isinstance(begun, Beginning):
                origin, base = await self._source(begun.directory), begun.commit
            else:
                origin, base = await unpacked(self._git, begun, here / "origin")
            clone = await Clone.made(self._git, origin, base, here / "tree")
            directory = await to_thread.run_sync(directory_below, clone.top, within)
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))
        return Ok(OpenClone(clone.top, directory, partial(clone.work, here / "view"), borrows=(origin.objects,)))

    async def _kept(self, directory: Path, task: str) -> Work | None:
        async with self._viewed(directory) as view:
            return await work_of(view, task)

    async def _include(self, beginning: Beginning, includes: Sequence[str], top: Path) -> None:
        async with self._viewed(beginning.directory) as view:
            await include(view, includes, top)

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

    @asynccontextmanager
    async def _held(self, name: str = "") -> AsyncGenerator[Result[Path, OhmError]]:
        try:
            async with private_directory(self._clones, name) as place:
                yield Ok(place)
        except WorkspaceError as why:
            yield Err(why.error)

    @property
    def _clones(self) -> Path:
        return self._root / "clones"

    async def _sweep(self) -> None:
        """Keep the work of clones whose processes have died, and remove them; none where no lock is possible."""
        with anyio.CancelScope(shield=True):
            async with self._sweeping:
                for lock in sorted(self._clones.glob("*.lock")):
                    with suppress(OSError), try_hold(lock) as is_left:
                        if is_left:
                            await self._recover(lock.with_suffix(""))

    async def _recover(self, place: Path) -> None:
        beginning = await to_thread.run_sync(read_note, place)
        if beginning is not None:
            await to_thread.run_sync(remove, place / "view")
            try:
                work = await self._work_left(beginning, place)
            except (WorkspaceError, OSError) as why:
                work = partial(_raise, why)
            await self.keep_clone(beginning, OpenClone(place / "tree", place / "tree", work))
        await to_thread.run_sync(remove, place)

    async def _work_left(self, beginning: Beginning, place: Path) -> Callable[[], Awaitable[bytes]]:
        """Return what tells the work in a clone that a process has left."""
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


async def _raise(why: Exception) -> bytes:
    raise why
