"""Landings: the changes of a task made to the files of its parent, all of them or none."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.workspace import Landing
from ohm_subagents.workspaces.choice import workspaces_of
from ohm_subagents.workspaces.copied_landings import land_copy
from ohm_subagents.workspaces.depot import Depot
from ohm_subagents.workspaces.failure import WorkspaceError, error_of
from ohm_subagents.workspaces.landing_steps import made
from ohm_subagents.workspaces.merging import merged
from ohm_subagents.workspaces.replacement import Change, Landed
from ohm_subagents.workspaces.snapshot import head_of, snapshot
from ohm_subagents.workspaces.task_workspaces import TaskWorkspaces
from ohm_subagents.workspaces.work import LANDED, Kept, forget_all, kept_of, ref_of
from ohm_subagents.workspaces.working_files import ChangedMeanwhile, Version

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from ohm_subagents.workspaces.view import View


class Landings:
    """Makes what tasks have done to the files of their parents, or throws it away.

    Only files of the working tree are written, and references below `refs/ohm/`: HEAD, the index, the stash, hooks and
    settings stay as they are. One landing after the other happens in a repository, whichever process asks for it.
    """

    def __init__(self, workspaces: TaskWorkspaces, *, step: Callable[[str], None] = lambda _name: None) -> None:
        """Land what `workspaces` keep. `step` is called with the name of each step: a test may end it there."""
        self._workspaces = workspaces
        self._step = step

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Result[Landings, OhmError]:
        """Return those of the user's cache; Err if `env` names neither that nor a home."""
        match workspaces_of(env):
            case Ok(workspaces):
                return Ok(cls(workspaces))
            case Err() as refused:
                return refused

    async def land(self, directory: Path, task: str) -> Result[Landing, OhmError]:
        """Make the changes of a task to the files of a directory as they are now, uncommitted, where they all fit.

        With a conflict nothing is changed. A task that has changed more since it landed lands that.
        """
        try:
            async with self._workspaces._alone(directory) as ground:  # noqa: SLF001  one of this room
                if isinstance(ground, Depot):
                    return await _land(task, ground.kept(task), partial(land_copy, ground, self._step))
                return await _land(task, await kept_of(ground, task), partial(self._landed, ground))
        except ChangedMeanwhile as changed:
            return Err(_changed(str(changed)))
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))

    async def discard(self, directory: Path, task: str) -> Result[None, OhmError]:
        """Remove what is kept of a task that has not landed."""
        try:
            async with self._workspaces._alone(directory) as ground:  # noqa: SLF001  as above
                if isinstance(ground, Depot):
                    return await _discard(task, ground.kept(task), ground.forget)
                return await _discard(task, await kept_of(ground, task), partial(forget_all, ground))
        except (WorkspaceError, OSError) as why:
            return Err(error_of(why))

    async def _landed(self, view: View, landed: Landed, base: str) -> Landing:
        now = await snapshot(view, "Files of the parent", head=await head_of(view))
        trees = await view.run("rev-parse", f"{base}^{{tree}}", f"{landed.commit}^{{tree}}")
        base_tree, work_tree = trees.line.split()
        tree = await merged(view, base=base_tree, ours=now.tree, theirs=work_tree)
        if not isinstance(tree, str):
            return Landing(ref=landed.ref.removesuffix(LANDED), conflicts=tree)
        changes = await _changes(view, now.tree, tree)
        self._step("merged")
        record = partial(view.run, "update-ref", "--no-deref", landed.ref, landed.commit)
        stage = partial(_stage, view, changes, tree)
        return await made(view.source, changes, landed, stage=stage, record=record, step=self._step)


async def _stage(view: View, changes: list[Change], tree: str, new: Path) -> None:
    await view.run("read-tree", tree)
    paths = b"".join(change.path + b"\0" for change in changes if change.new is not None)
    await view.run("checkout-index", "-q", "-z", "--stdin", f"--prefix={new}/", stdin=paths)


async def _land(task: str, kept: Kept, land: Callable[[Landed, str], Awaitable[Landing]]) -> Result[Landing, OhmError]:
    base = kept.landed or kept.base
    if kept.work is None or base is None:
        return Err(_nothing(task))
    if kept.work == kept.landed:
        return Err(_refused(f"The changes of task '{task}' have landed; there is nothing more to land."))
    return Ok(await land(Landed(ref=ref_of(task) + LANDED, commit=kept.work), base))


async def _discard(task: str, kept: Kept, forget: Callable[[str], Awaitable[None]]) -> Result[None, OhmError]:
    if kept.work is None:
        return Err(_nothing(task))
    if kept.work == kept.landed:
        told = f"The changes of task '{task}' have landed, and are in the files of its directory."
        return Err(_refused(told, "Take them back there."))
    await forget(task)
    return Ok(None)


async def _changes(view: View, before: str, after: str) -> list[Change]:
    told = (await view.run("diff-tree", "-r", "-z", "--raw", "--no-renames", before, after)).stdout
    parts = iter(told.removesuffix(b"\0").split(b"\0") if told else [])
    return [_change(facts, next(parts)) for facts in parts]


def _change(facts: bytes, path: bytes) -> Change:
    modes_and_ids = facts.decode().removeprefix(":").split(" ")[:4]
    old, new = (
        None if int(mode, 8) == 0 else Version(int(mode, 8), oid)
        for mode, oid in zip(modes_and_ids[:2], modes_and_ids[2:], strict=True)
    )
    return Change(path=path, old=old, new=new)


def _refused(message: str, advice: str = "") -> OhmError:
    return OhmError(code=ErrorCode.NOTHING_TO_LAND, message=message, advice=advice)


def _nothing(task: str) -> OhmError:
    return _refused(f"Nothing is kept of task '{task}' that could land: it has changed no files of its own.")


def _changed(path: str) -> OhmError:
    message = f"'{path}' was changed while the work was landing; nothing was changed by the landing."
    return OhmError(code=ErrorCode.WORKSPACE_FAILED, message=message, advice="Land it again.", retryable=True)
