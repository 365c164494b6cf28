"""The workspaces of tasks: what a directory was when a task began, a clone to work in, and the way back."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import quote

from anyio import to_thread

from ohm_subagents._config.env import cache_dir
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.workspaces.clone import Clone, bundled
from ohm_subagents.workspaces.failure import WorkspaceError, error_of
from ohm_subagents.workspaces.git import Git
from ohm_subagents.workspaces.interruption import is_interrupted, landing_alone, mended
from ohm_subagents.workspaces.places import private_directory, sweep
from ohm_subagents.workspaces.snapshot import snapshot
from ohm_subagents.workspaces.source import Source, is_repository, source_of
from ohm_subagents.workspaces.view import View

REFS: Final = "refs/ohm/"
BASE: Final = ".base"
"""After the name of a task, in which there is no dot."""
_MAX_NAME: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """The files that a run begins with."""

    directory: Path
    """The directory of its task."""
    within: str
    """The same directory, below that of the repository; empty for the repository's own."""
    commit: str
    """The commit that has them: of a task that has changed some before, what it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The changes that a task has made, in all of its runs."""

    base: str
    """The commit that it began with; empty if that is not known any more."""
    ref: str
    """The reference that keeps them, on top of the base."""
    files: int
    """The number of files that differ."""
    insertions: int
    """The number of lines that were added to them."""
    deletions: int
    """The number of lines that were removed from them."""


class OpenClone:
    """A clone while it is there."""

    def __init__(self, directory: Path, work: Callable[[], Awaitable[bytes]]) -> None:
        self.directory = directory
        """The directory to work in."""
        self._work = work

    async def work(self) -> Result[bytes, OhmError]:
        """Return once, as a git bundle, what was done to the files; nothing where none differs from the beginning."""
        try:
            return Ok(await self._work())
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))


class GitWorkspaces:
    """Makes clones of directories for tasks, and keeps what the tasks do to them in the repository of the directory.

    Of a repository, nothing changes but its objects and two references: `refs/ohm/<task>.base` keeps what the task
    began with, and `refs/ohm/<task>` what it did. A directory that is in none has one of ours below `root`. No setting,
    hook or filter of a repository runs. The first use removes what processes that have died left.
    """

    def __init__(self, root: Path, env: Mapping[str, str]) -> None:
        """Keep everything below `root`, and find git, the home and the user's ignored files by `env`."""
        self._root = root
        self._git = Git(env)
        self._is_swept = False

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Result[GitWorkspaces, OhmError]:
        """Return those below the user's cache; Err if `env` names neither that nor a home."""
        cache = cache_dir(env)
        if cache is None:
            nowhere = "There is no directory for workspaces: neither XDG_CACHE_HOME nor HOME is set."
            return Err(WorkspaceError(nowhere, "Set one of them.").error)
        return Ok(cls(cache / "workspaces", env))

    async def begin(self, directory: Path, task: str) -> Result[Beginning, OhmError]:
        """Keep the files of a directory as they are. A task that has changed some before goes on with its own."""
        ref = ref_of(task)
        try:
            async with self._viewed(directory) as view:
                commit = await view.commit(ref) or await view.commit(ref + BASE)
                if commit is None:
                    commit = (await snapshot(view, "Files that the task began with", head=await head_of(view))).commit
                    await view.run("update-ref", "--no-deref", ref + BASE, commit)
                within = await to_thread.run_sync(_within, directory, view.source.top)
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))
        return Ok(Beginning(directory=directory, within=within, commit=commit))

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
        ref = ref_of(task)
        try:
            async with self._viewed(directory) as view:
                base = await view.commit(ref + BASE)
                file = view.directory / "bundle"
                await to_thread.run_sync(file.write_bytes, bundle)
                await view.run("fetch", *_PLAINLY, f"{file}", f"+HEAD:{ref}")
                return Ok(await _compared(view, base, ref))
        except (WorkspaceError, OSError) as why:
            return Err(await to_thread.run_sync(self._saved, task, bundle, why))

    async def diff(self, directory: Path, task: str) -> Result[bytes, OhmError]:
        """Return what a task has changed, as a patch that `git apply` takes; nothing if nothing is kept of it."""
        ref = ref_of(task)
        try:
            async with self._viewed(directory) as view:
                if await view.commit(ref) is None:
                    return Ok(b"")
                return Ok((await view.run("diff", *_PATCH, ref + BASE, ref, "--")).stdout)
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))

    async def forget(self, directory: Path, task: str) -> Result[None, OhmError]:
        """Remove what a task began with if it has changed nothing."""
        ref = ref_of(task)
        try:
            async with self._viewed(directory) as view:
                if await view.commit(ref) is None:
                    await view.run("update-ref", "--no-deref", "-d", ref + BASE)
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))
        return Ok(None)

    @asynccontextmanager
    async def clone(self, beginning: Beginning) -> AsyncGenerator[Result[OpenClone, OhmError]]:
        """Hold a clone on the machine of the directory, whose objects it borrows."""
        async with self._held() as place:
            yield await self._opened(place, beginning.within, beginning)

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
                origin, base = await self._unpacked(begun, here / "origin")
            clone = await Clone.made(self._git, origin, base, here / "tree")
            directory = await to_thread.run_sync(_below, clone.top, within)
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))
        return Ok(OpenClone(directory, partial(clone.work, here / "view")))

    @asynccontextmanager
    async def _viewed(self, directory: Path, *, writes: bool = True) -> AsyncGenerator[View]:
        """Look at the repository of a directory; objects are kept only if the view writes."""
        async with self._place() as place:
            source = await self._source(directory)
            view = await View.opened(self._git, source, place / "view", objects=None if writes else place / "objects")
            if is_interrupted(source):
                async with landing_alone(source):
                    await mended(view)
            yield view

    @asynccontextmanager
    async def _held(self) -> AsyncGenerator[Result[Path, OhmError]]:
        try:
            async with self._place() as place:
                yield Ok(place)
        except WorkspaceError as why:
            yield Err(why.error)

    @asynccontextmanager
    async def _place(self) -> AsyncGenerator[Path]:
        places = self._root / "clones"
        if not self._is_swept:
            self._is_swept = True
            await to_thread.run_sync(sweep, places)
        async with private_directory(places) as place:
            yield place

    async def _source(self, directory: Path) -> Source:
        """Return the repository of a directory, which is one of ours where there is none."""
        found = await to_thread.run_sync(source_of, directory)
        if found is not None:
            return found
        top = await to_thread.run_sync(directory.resolve)
        ours = self._root / "repositories" / sha256(os.fsencode(top)).hexdigest()[:32]
        if not is_repository(ours):
            await to_thread.run_sync(_make_directory, ours)
            await self._git.run("init", "-q", "--bare", "--template=", "-b", "main", f"{ours}", cwd=ours)
        return Source(top=top, git_dir=ours, common_dir=ours)

    async def _unpacked(self, bundle: bytes, origin: Path) -> tuple[Source, str]:
        """Make a repository of a bundle, and return it with the commit that the bundle is for."""
        await to_thread.run_sync(_make_directory, origin)
        file = origin / "bundle"
        await to_thread.run_sync(file.write_bytes, bundle)
        base = (await self._git.run("bundle", "list-heads", f"{file}", cwd=origin)).line.partition(" ")[0]
        hashing = "sha256" if len(base) == sha256().digest_size * 2 else "sha1"
        await self._git.run(
            "init", "-q", "--bare", "--template=", f"--object-format={hashing}", "-b", "main", cwd=origin
        )
        (origin / "shallow").write_text(f"{base}\n")
        await self._git.run("fetch", *_PLAINLY, f"{file}", "+HEAD:refs/ohm/base", cwd=origin)
        await to_thread.run_sync(file.unlink)
        return Source(top=origin, git_dir=origin, common_dir=origin), base

    def _saved(self, task: str, bundle: bytes, why: Exception) -> OhmError:
        """Save work that cannot be kept where it belongs."""
        file = self._root / "unkept" / f"{ref_of(task).removeprefix(REFS)}-{sha256(bundle).hexdigest()[:8]}.bundle"
        try:
            _make_directory(file.parent)
            file.write_bytes(bundle)
        except OSError as error:
            return WorkspaceError(f"{error_of(why).message} It cannot be saved either: {error.strerror}.").error
        return replace(error_of(why), advice=f"The work is saved: git fetch '{file}' HEAD")


_PATCH: Final = ("--no-ext-diff", "--no-textconv", "--no-color", "--binary", "--full-index")
_PLAINLY: Final = (*("-q", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules"),)


def ref_of(task: str) -> str:
    """Return the name of the reference that keeps what a task did."""
    name = quote(task, safe="").replace(".", "%2E").replace("~", "%7E")
    return REFS + (name if len(name) <= _MAX_NAME else sha256(task.encode()).hexdigest())


async def head_of(view: View) -> str | None:
    """Return the commit of HEAD; None before the first one. Raises `WorkspaceError` if it is missing."""
    head = await view.says("rev-parse", "-q", "--verify", "HEAD")
    if head is not None:
        await view.run("cat-file", "-e", f"{head}^{{commit}}")
    return head


async def _compared(view: View, base: str | None, ref: str) -> Work:
    """Count what differs. A file that is not text has no lines."""
    told = await view.run("diff-tree", "-r", "--numstat", "-z", base, ref) if base is not None else None
    counts = [line.split(b"\t")[:2] for line in told.stdout.split(b"\0") if line] if told is not None else []
    added, removed = (sum(int(one[side]) for one in counts if one[side] != b"-") for side in (0, 1))
    return Work(base=base or "", ref=ref, files=len(counts), insertions=added, deletions=removed)


def _within(directory: Path, top: Path) -> str:
    """Return a directory as it is called below another one; empty for the same."""
    within = f"{directory.resolve().relative_to(top)}"
    return "" if within == "." else within


def _below(top: Path, within: str) -> Path:
    """Return a directory in a clone, which is made if the files are in others."""
    directory = (top / within).resolve()
    if not directory.is_relative_to(top.resolve()):
        outside = f"'{within}' is no directory of a workspace."
        raise WorkspaceError(outside)
    _make_directory(directory)
    return directory


def _make_directory(directory: Path) -> None:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
