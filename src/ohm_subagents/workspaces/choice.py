"""The choice between workspaces by git, and those of a machine without it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ohm_subagents.workspaces.copies import Copies
from ohm_subagents.workspaces.git import program_in
from ohm_subagents.workspaces.git_workspaces import GitWorkspaces
from ohm_subagents.workspaces.task_workspaces import root_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.result import Result
    from ohm_subagents.workspaces.task_workspaces import TaskWorkspaces


def workspaces_of(env: Mapping[str, str]) -> Result[TaskWorkspaces, OhmError]:
    """Return the workspaces below the user's cache, which are copies where `env` leads to no git."""
    if program_in(env.get("PATH", os.defpath)) is not None:
        return GitWorkspaces.of(env)
    return root_of(env).map(Copies)
