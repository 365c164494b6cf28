"""The workspaces of tasks, by git or without: a clone while it is open, and the way back of its work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from ohm_subagents._concurrency.file_lock import try_hold
from ohm_subagents._config.env import cache_dir
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.workspaces.clone import OpenClone
from ohm_subagents.workspaces.failure import WorkspaceError, error_of
from ohm_subagents.workspaces.notes import read_note, write_note
from ohm_subagents.workspaces.places import private_directory, remove
from ohm_subagents.workspaces.unkept import set_aside
from ohm_subagents.workspaces.work import Beginning, Parent, Work

if TYPE_CHECKING:
    from ohm_subagents.workspaces.depot import Depot
    from ohm_subagents.workspaces.view import View


class TaskWorkspaces(ABC):
    """Makes clones of directories for tasks, and keeps what the tasks do to them.

    What processes left that have died is kept before the next task begins.
    """

    def __init__(self, root: Path) -> None:
        """Keep everything below `root` that is not kept in the repository of a directory."""
        self._root = root
        self._sweeping = anyio.Lock()

    @abstractmethod
    async def begin(
        self, directory: Path, task: str, *, after: str = "", is_gone: Callable[[str], bool] = lambda _task: False
    ) -> Result[Beginning, OhmError]:
        """Keep the files of a directory as they are. A task that has changed some before goes on with its own.

        So does one that continues another, `after`. Landed work of tasks that are gone is kept no longer.
        """

    async def keep_clone(self, beginning: Beginning, clone: OpenClone) -> Result[Work | None, OhmError]:
        """Keep what was done in a clone, once; None if the task has changed nothing.

        Where that is impossible, the clone is left, and the error names its directory.
        """
        directory, task = beginning.directory, beginning.task
        work = await clone.work()
        try:
            if isinstance(work, Ok):
                if work.ok_value:
                    await self._keep(directory, task, work.ok_value)
                kept = await self._kept(directory, task)
                return Ok(kept) if kept is not None else await self.forget(directory, task)
            error = work.err_value
        except (WorkspaceError, OSError) as why:
            error = error_of(why)
        return Err(await to_thread.run_sync(set_aside, self._root, task, clone.top, error))

    @abstractmethod
    async def diff(self, directory: Path, task: str) -> Result[bytes, OhmError]:
        """Return what a task has changed, as a patch that `git apply` takes; nothing if nothing is kept of it."""

    async def work(self, directory: Path, task: str) -> Result[Work | None, OhmError]:
        """Return what is kept of a task, first of one whose process has died; None for nothing."""
        try:
            await self._sweep()
            return Ok(await self._kept(directory, task))
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))

    @abstractmethod
    async def forget(self, directory: Path, task: str) -> Result[None, OhmError]:
        """Remove what a task began with if it has changed nothing."""

    @abstractmethod
    async def parent(self, directory: Path) -> Result[Parent, OhmError]:
        """Look at what no task in a clone may change."""

    @abstractmethod
    async def changed(self, beginning: Beginning) -> list[str]:
        """Name what of it has changed since a task began, and has not landed."""

    @asynccontextmanager
    async def clone(
        self, beginning: Beginning, name: str = "", *, includes: Sequence[str] = ()
    ) -> AsyncGenerator[Result[OpenClone, OhmError]]:
        """Hold a clone on the machine of the directory.

        Those of one `name` are in the same place, one after the other, so that a program finds its session again.
        Ignored files are in it that match one of `includes`; they are no part of its work.
        """
        async with self._held(name and sha256(name.encode()).hexdigest()[:16]) as place:
            yield place if isinstance(place, Err) else await self._opened(place.ok_value, beginning, includes)

    async def _opened(self, place: Path, beginning: Beginning, includes: Sequence[str]) -> Result[OpenClone, OhmError]:
        try:
            clone = await self._made(beginning, place)
            if includes:
                await self._include(beginning, includes, clone.top)
            await to_thread.run_sync(write_note, place, beginning)
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))
        return Ok(clone)

    @abstractmethod
    def _alone(self, directory: Path) -> AbstractAsyncContextManager[View | Depot]:
        """Keep other landings out, and finish or take back one that was interrupted."""

    @abstractmethod
    async def _made(self, beginning: Beginning, place: Path) -> OpenClone:
        """Make a clone in the directory `tree` of a place."""

    @abstractmethod
    async def _include(self, beginning: Beginning, includes: Sequence[str], top: Path) -> None:
        """Copy ignored files into a clone."""

    @abstractmethod
    async def _keep(self, directory: Path, task: str, work: bytes) -> None:
        """Keep the work that a clone returned."""

    @abstractmethod
    async def _kept(self, directory: Path, task: str) -> Work | None:
        """Return what is kept of a task; None for nothing."""

    @abstractmethod
    async def _work_left(self, beginning: Beginning, place: Path) -> Callable[[], Awaitable[bytes]]:
        """Return what tells the work in a clone that a process has left."""

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


def root_of(env: Mapping[str, str]) -> Result[Path, OhmError]:
    """Return where workspaces are in the user's cache; Err if `env` names neither that nor a home."""
    cache = cache_dir(env)
    if cache is None:
        nowhere = "There is no directory for workspaces: neither XDG_CACHE_HOME nor HOME is set."
        return Err(WorkspaceError(nowhere, "Set one of them.").error)
    return Ok(cache / "workspaces")


async def _raise(why: Exception) -> bytes:
    raise why
