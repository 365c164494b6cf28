"""The work of a settled task, landed or discarded: an act on a repository, and its record."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ohm_subagents._orchestrator.admission.refused_commands import refusing
from ohm_subagents._orchestrator.call_context import current_context
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.launch import not_settled_yet, nothing_to_land
from ohm_subagents.contract.replies import AnswerReply, CommandRejected
from ohm_subagents.contract.result import Err, Result
from ohm_subagents.contract.task import apply

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents._orchestrator.admission.context import AdmissionContext
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents.contract.commands import LandWork
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.contract.replies import Reply
    from ohm_subagents.contract.task import Task
    from ohm_subagents.contract.workspace import Landed, Landing, WorkspaceKept

LOOKUP: Final = "task"
"""The `backend` of an envelope for an id without a task."""


async def landed(command: LandWork, store: Store, *, context: AdmissionContext, clock: Clock) -> Reply:
    """Land or discard the work of a task, whoever has run it, and record that."""
    found = store.get(TaskId(command.id))
    if isinstance(found, Err):
        return _rejected(command, found.err_value)
    task = found.ok_value
    worked_in = Path(task.assignment.cwd or (task.launch and task.launch.cwd) or context.cwd)
    left = await _left(task, worked_in, context.env)
    if left is not None:
        task = apply(task, left, at_ms=clock())
        store.save(task, left)
    done = await _done(command, task, worked_in, context.env)
    if isinstance(done, Err):
        return _rejected(command, done.err_value, task)
    kept, landing = task.activity.workspace, done.ok_value
    if kept is not None:
        became: Landed = "discarded" if landing is None else landing.landed
        event = replace(kept, landed=became, conflicts=() if landing is None else landing.reasons)
        task = apply(task, event, at_ms=clock())
        store.save(task, event)
    if landing is not None and landing.conflicts:
        return _rejected(command, conflict(task.id, landing), task)
    return AnswerReply(task=task, op=command.op)


async def _left(task: Task, directory: Path, env: Mapping[str, str]) -> WorkspaceKept | None:
    """Return the event of the work that a process has left in a clone when it was killed; None for none."""
    own = task.launch is not None and task.launch.isolation == "clone" and task.launch.clone_of is None
    if task.activity.workspace is not None or not task.is_terminal or not own:
        return None
    from ohm_subagents.workspaces import workspaces_of  # noqa: PLC0415  few programs ever land anything

    workspaces = workspaces_of(env)
    if isinstance(workspaces, Err):
        return None
    work = (await workspaces.ok_value.work(directory, task.id)).unwrap_or(None)
    return None if work is None else work.event


async def _done(
    command: LandWork, task: Task, directory: Path, env: Mapping[str, str]
) -> Result[Landing | None, OhmError]:
    """Do it; returns None for a discard."""
    caller = current_context.get()
    if caller is not None and caller.task_id is not None:
        message = f"A subagent may not {command.op} the work of task '{task.id}'."
        advice = "Whoever has started all of the tasks decides that."
        return Err(OhmError(code=ErrorCode.PERMISSION_DENIED, message=message, advice=advice))
    if not task.is_terminal:
        return Err(not_settled_yet(task.id, task.status))
    kept = task.activity.workspace
    if kept is None:
        return Err(nothing_to_land(task.id, task.launch))
    if kept.landed == "discarded":
        return Err(_nothing(f"The work of task '{task.id}' was discarded."))
    from ohm_subagents.workspaces import Landings  # noqa: PLC0415  few programs ever land anything

    landings = Landings.of(env)
    if isinstance(landings, Err):
        return landings
    if command.op == "discard":
        return await landings.ok_value.discard(directory, task.id)
    return await landings.ok_value.land(directory, task.id)


def conflict(task_id: TaskId, landing: Landing) -> OhmError:
    """Return the error for work that does not fit."""
    return OhmError(
        code=ErrorCode.LANDING_CONFLICT,
        message=f"The changes of task '{task_id}' do not fit into the files of its directory, and nothing has landed: "
        f"{'; '.join(landing.reasons)}.",
        advice="Change these lines there, or let another task make the changes to the files as they are now.",
        task_id=task_id,
    )


def _nothing(message: str, advice: str = "") -> OhmError:
    return OhmError(code=ErrorCode.NOTHING_TO_LAND, message=message, advice=advice)


def _rejected(command: LandWork, error: OhmError, task: Task | None = None) -> CommandRejected:
    if task is None:
        return CommandRejected(error=error, backend=LOOKUP, op=command.op, task_id=TaskId(command.id))
    return refusing(task, command.op)(error=error, invocation=task.assignment.invocation)
