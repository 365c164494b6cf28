"""`ohm diff <id>`: what a task did to files of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ohm_subagents.commands import SUCCESS, TASK_FAILED, complain, is_terminal, print_text
from ohm_subagents.config import process_env
from ohm_subagents.contract.launch import not_settled_yet, nothing_to_land
from ohm_subagents.contract.result import Err
from ohm_subagents.workspaces import workspaces_of

if TYPE_CHECKING:
    from ohm_subagents.config import OhmConfig
    from ohm_subagents.contract.task import Task
    from ohm_subagents.store import Store


async def print_diff(cwd: Path, task: Task, _store: Store, _config: OhmConfig) -> int:
    """Print the changes as a patch, in a pipe byte for byte; return the exit code."""
    workspaces = workspaces_of(process_env())
    if isinstance(workspaces, Err):
        complain(workspaces.err_value)
        return TASK_FAILED
    if task.launch is not None and task.launch.clone_of is not None:
        complain(nothing_to_land(task.id, task.launch))
        return SUCCESS
    worked_in = task.assignment.cwd or (task.launch and task.launch.cwd) or cwd
    patch = await workspaces.ok_value.diff(Path(worked_in), task.id)
    if isinstance(patch, Err):
        complain(patch.err_value)
        return TASK_FAILED
    if not patch.ok_value and _has_clone(task) and not task.is_terminal:
        complain(not_settled_yet(task.id, task.status))
        return TASK_FAILED
    if not patch.ok_value:
        complain(_unchanged(task))
    elif is_terminal():
        print_text(os.fsdecode(patch.ok_value).rstrip("\n"))
    else:
        sys.stdout.buffer.write(patch.ok_value)
        sys.stdout.flush()
    return SUCCESS


def _unchanged(task: Task) -> str:
    """Return why there is nothing to show."""
    kept = task.activity.workspace
    if kept is not None and kept.landed == "discarded":
        return f"The work of task '{task.id}' was discarded."
    return str(nothing_to_land(task.id, task.launch, had_work=kept is not None))


def _has_clone(task: Task) -> bool:
    return task.launch is not None and task.launch.isolation == "clone"
