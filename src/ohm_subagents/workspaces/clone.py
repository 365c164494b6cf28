"""A clone that a run works in, and what it did there."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from anyio import to_thread

from ohm_subagents._records import dataclass
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.workspaces.failure import WorkspaceError, error_of
from ohm_subagents.workspaces.git_index import LISTED, can_share, share_all
from ohm_subagents.workspaces.places import make_directory, remove
from ohm_subagents.workspaces.snapshot import snapshot
from ohm_subagents.workspaces.source import Source, is_repository, read_small
from ohm_subagents.workspaces.view import ATTRIBUTES, View, write_alternates

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.workspaces.git import Git

UNCOMMITTED: Final = "Files that the run left uncommitted"
PLAINLY: Final = (*("-q", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules"),)
"""Options of `git fetch` by which it does nothing else."""
_WRITERS: Final = 2 * (os.cpu_count() or 2)
"""Processes that write files at once: new files wait for the disk, and these took 0.5 to 0.6 of the time of one."""
_USER: Final = "[user]\n\tname = ohm-subagents\n\temail = ohm-subagents@localhost\n[gc]\n\tauto = 0\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clone:
    """A working tree of its own, whose repository borrows the objects of its origin."""

    origin: Source
    """The repository that it was made of."""
    base: str
    """The commit that it began with."""
    top: Path
    """The directory of its working tree."""
    git: Git
    """Runs git."""

    @classmethod
    async def made(cls, git: Git, origin: Source, base: str, top: Path) -> Clone:
        """Make a clone at a commit, in a directory that is not there yet. Nothing of the origin changes."""
        options = ("-q", "--template=", f"--object-format={origin.object_format}", "-b", origin.branch)
        await git.run("init", *options, f"{top}", cwd=top.parent)
        try:
            await to_thread.run_sync(_prepare, top / ".git", origin, base)
        except OSError as error:
            unmade = f"No clone can be made at '{top}': {error.strerror or error}."
            raise WorkspaceError(unmade) from None
        if origin.object_format == "sha1" and await to_thread.run_sync(can_share, origin.top, top):
            await _share(git, origin, base, top)
        await git.run("-c", f"checkout.workers={_WRITERS}", "reset", "-q", "--hard", cwd=top)
        return cls(origin=origin, base=base, top=top, git=git)

    async def work(self, scratch: Path) -> bytes:
        """Return what was done here as a git bundle on top of the base; nothing where no file differs from it.

        Commits of the run are kept. What it has not committed becomes one more commit. `scratch` is not there yet.
        """
        view = await self._view(scratch)
        head = await view.commit("HEAD")
        if head is None or (head != self.base and await self._has_left(view, head)):
            head = self.base
        try:
            taken = await snapshot(view, UNCOMMITTED, head=head)
        except WorkspaceError:
            if not await to_thread.run_sync(_forget_index, view):
                raise
            taken = await snapshot(view, UNCOMMITTED, head=head)
        is_same = taken.commit == self.base
        if head != self.base:
            is_same = taken.tree == (await view.run("rev-parse", f"{self.base}^{{tree}}")).line
        return b"" if is_same else await bundled(view, taken.commit, without=(f"^{self.base}",))

    async def _has_left(self, view: View, head: str) -> bool:
        return await view.says("merge-base", "--is-ancestor", self.base, head) is None

    async def _view(self, scratch: Path) -> View:
        """Look at the clone through settings of our own; its run may have written any into it, or removed it."""
        git_dir = self.top / ".git"
        is_whole = not git_dir.is_symlink() and is_repository(git_dir)
        git_dir, common = (git_dir, git_dir) if is_whole else (self.origin.git_dir, self.origin.common_dir)
        view = await View.opened(
            self.git,
            Source(top=self.top, git_dir=git_dir, common_dir=common),
            scratch,
            objects=scratch / "objects",
            more_objects=(self.origin.objects,),
        )
        await to_thread.run_sync(_share_history, self.origin, scratch)
        return view


class OpenClone:
    """A clone while it is there."""

    def __init__(
        self, top: Path, directory: Path, work: Callable[[], Awaitable[bytes]], *, borrows: tuple[Path, ...] = ()
    ) -> None:
        self.top = top
        """The directory of its repository."""
        self.borrows = borrows
        """The directories of objects that it reads, and nobody may change."""
        self.directory = directory
        """The directory to work in."""
        self._work = work

    async def work(self) -> Result[bytes, OhmError]:
        """Return once what was done to the files, for `keep`; nothing where none differs from the beginning."""
        try:
            return Ok(await self._work())
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))


async def _share(git: Git, origin: Source, base: str, top: Path) -> None:
    """Give a clone the files that its origin has unchanged, without their blocks. What is wrong git writes itself."""
    view = await View.opened(git, origin, top / ".git" / "origin")
    try:
        if view.has_index():
            written_ns = (view.directory / "index").stat().st_mtime_ns
            listed = (await view.run(*LISTED)).stdout
            await git.run("read-tree", base, cwd=top)
            await share_all(origin.top, listed, written_ns, top)
    finally:
        await to_thread.run_sync(remove, view.directory)


async def bundled(view: View, commit: str, *, without: tuple[str, ...] = ()) -> bytes:
    """Return a git bundle whose HEAD is this commit."""
    (view.directory / "HEAD").write_text(f"{commit}\n")
    file = view.directory / "bundle"
    await view.run("bundle", "create", "-q", f"{file}", "HEAD", *without)
    return await to_thread.run_sync(file.read_bytes)


def _prepare(git_dir: Path, origin: Source, base: str) -> None:
    (git_dir / "packed-refs").write_text(f"{base} refs/heads/{origin.branch}\n")
    (git_dir / "info").mkdir(exist_ok=True)
    (git_dir / "info" / "attributes").write_text(ATTRIBUTES)
    (git_dir / "info" / "exclude").write_bytes(read_small(origin.common_dir / "info" / "exclude"))
    write_alternates(git_dir / "objects", (origin.objects,))
    with (git_dir / "config").open("a") as config:
        config.write(_USER)
    _share_history(origin, git_dir)


def _share_history(origin: Source, git_dir: Path) -> None:
    """End the history of a repository where that of the origin ends."""
    ours = git_dir / "shallow"
    ours.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        shutil.copyfile(origin.common_dir / "shallow", ours)


def _forget_index(view: View) -> bool:
    """Remove the index, which its run may have broken; False if there is none."""
    was_there = view.has_index()
    (view.directory / "index").unlink(missing_ok=True)
    return was_there


async def unpacked(git: Git, bundle: bytes, origin: Path) -> tuple[Source, str]:
    """Make a repository of a bundle, and return it with the commit that the bundle is for."""
    await to_thread.run_sync(make_directory, origin)
    file = origin / "bundle"
    await to_thread.run_sync(file.write_bytes, bundle)
    base = (await git.run("bundle", "list-heads", f"{file}", cwd=origin)).line.partition(" ")[0]
    hashing = "sha256" if len(base) == sha256().digest_size * 2 else "sha1"
    await git.run("init", "-q", "--bare", "--template=", f"--object-format={hashing}", "-b", "main", cwd=origin)
    (origin / "shallow").write_text(f"{base}\n")
    await git.run("fetch", *PLAINLY, f"{file}", "+HEAD:refs/ohm/base", cwd=origin)
    await to_thread.run_sync(file.unlink)
    return Source(top=origin, git_dir=origin, common_dir=origin), base
