"""The directories that hosted runs work in, and the way of files to a runner and back."""

from __future__ import annotations

from base64 import b64decode, b64encode
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import anyio

from ohm_subagents.contract.wire import Workspace
from ohm_subagents.plugin import Err, ErrorCode, OhmError, Ok, WorkspaceKept
from ohm_subagents.workspaces import GitWorkspaces

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from contextlib import AbstractAsyncContextManager

    from ohm_subagents.contract.wire import ResultReported
    from ohm_subagents.plugin import Result, RunRequest, Sink

MAX_BUNDLE: Final = 32 * 2**20
"""Bytes of a bundle that travels: it is one message."""


BUNDLE_S: Final = 60.0
"""Seconds for the bundle of a run that was cancelled, beyond those that it has to end."""


class OpenWorkspace(Protocol):
    """The directory of a run while the run goes on."""

    @property
    def directory(self) -> Path:
        """The directory to work in."""
        ...

    async def work(self) -> Result[bytes, OhmError]:
        """Return at the end of the run, as a git bundle, what was done there; nothing where no file differs."""
        ...


class Workspaces(Protocol):
    """Finds or makes the directory of a run."""

    def opened(self, workspace: Workspace) -> AbstractAsyncContextManager[Result[OpenWorkspace, OhmError]]:
        """Return the directory while the run goes on, or why there is none."""
        ...


@dataclass(frozen=True, slots=True)
class _Shared:
    directory: Path

    async def work(self) -> Result[bytes, OhmError]:
        return Ok(b"")


class RunnerWorkspaces:
    """Takes the directories that submitter and runner both see, and clones what comes as a bundle."""

    def __init__(self, env: Mapping[str, str]) -> None:
        """Keep clones below the cache that `env` names."""
        self._clones = GitWorkspaces.of(env)

    @asynccontextmanager
    async def opened(self, workspace: Workspace) -> AsyncGenerator[Result[OpenWorkspace, OhmError]]:
        """Return the same path as on the submitter's side, or a clone, which is removed at the end."""
        if workspace.kind == "shared":
            yield Ok(_Shared(Path(workspace.path)))
        elif isinstance(self._clones, Err):
            yield self._clones
        else:
            try:
                bundle = b64decode(workspace.bundle, validate=True)
            except ValueError:
                yield Err(_failed("The bundle of the workspace is not written in base64."))
                return
            async with self._clones.ok_value.clone_of(bundle, workspace.within) as clone:
                yield clone


class Carrier:
    """Carries the files of tasks to a runner, and keeps what comes back; without clones, directories are shared."""

    def __init__(self, clones: GitWorkspaces | None) -> None:
        self._clones = clones

    async def carried(self, request: RunRequest) -> Result[Workspace, OhmError]:
        """Return the workspace of a run as it travels. Nothing is kept of one that does not."""
        if self._clones is None:
            return Ok(Workspace(path=str(request.cwd)))
        does_travel = False
        try:
            packed = await self._packed(self._clones, request)
            does_travel = isinstance(packed, Ok)
        finally:
            if not does_travel:
                with anyio.CancelScope(shield=True):
                    await self._clones.forget(request.cwd, request.task_id)
        return packed

    async def _packed(self, clones: GitWorkspaces, request: RunRequest) -> Result[Workspace, OhmError]:
        path = str(request.cwd)
        begun = await clones.begin(request.cwd, request.task_id)
        if isinstance(begun, Err):
            return begun
        bundle = await clones.bundle(begun.ok_value)
        if isinstance(bundle, Err):
            return bundle
        if len(bundle.ok_value) > MAX_BUNDLE:
            size = f"{len(bundle.ok_value) / 2**20:.0f} MiB"
            much = (
                f"The files of '{path}' are {size} as a bundle; at most {MAX_BUNDLE // 2**20} MiB travel to a runner."
            )
            return Err(_failed(much, "Have large files ignored by .gitignore, or use a directory that both sides see."))
        text = b64encode(bundle.ok_value).decode()
        return Ok(Workspace(path=path, kind="bundle", bundle=text, within=begun.ok_value.within))

    @property
    def bundle_s(self) -> float:
        """The seconds that a run which was cancelled has for its bundle."""
        return 0 if self._clones is None else BUNDLE_S

    async def kept(
        self, request: RunRequest, sink: Sink, told: ResultReported | None, *, is_silent: bool
    ) -> OhmError | None:
        """Keep what a run did, and tell of it, although it is cancelled; return why that is impossible."""
        if self._clones is None:
            return None
        if told is None:
            return _SILENT if is_silent else None
        if told.work is None:
            return told.work_error
        error: OhmError | None = None
        with anyio.CancelScope(shield=True):
            error = await self._kept(self._clones, request, sink, told.work)
        return error  # noqa: RET504  mypy takes a scope to swallow what is raised in it

    async def _kept(self, clones: GitWorkspaces, request: RunRequest, sink: Sink, work: str) -> OhmError | None:
        if not work:
            forgotten = await clones.forget(request.cwd, request.task_id)
            return forgotten.err_value if isinstance(forgotten, Err) else None
        kept = await clones.keep(request.cwd, request.task_id, b64decode(work))
        if isinstance(kept, Err):
            return kept.err_value
        done = kept.ok_value
        sink.emit(
            WorkspaceKept(
                base=done.base, ref=done.ref, files=done.files, insertions=done.insertions, deletions=done.deletions
            )
        )
        return None


async def reported(opened: OpenWorkspace) -> tuple[str | None, OhmError | None]:
    """Return what a run did to a workspace that has travelled as it travels back, or why that is not known."""
    work = await opened.work()
    if isinstance(work, Err):
        return None, work.err_value
    if len(work.ok_value) > MAX_BUNDLE:
        size = f"{len(work.ok_value) / 2**20:.0f} MiB"
        return None, _failed(f"What the run did is {size} as a bundle; at most {MAX_BUNDLE // 2**20} MiB travel.")
    return b64encode(work.ok_value).decode(), None


def _failed(message: str, advice: str = "") -> OhmError:
    return OhmError(code=ErrorCode.WORKSPACE_FAILED, message=message, advice=advice)


_SILENT: Final = _failed("The runner has not said in time what the run did to its files, and that is lost.")
