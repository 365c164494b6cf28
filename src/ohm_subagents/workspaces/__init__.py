"""The door for workspaces: a clone of a directory for each task, and the way back of what the task did to it.

The files of a directory, uncommitted and untracked ones included, become a commit that `refs/ohm/<task>` keeps. A clone
of it is made on the same machine, or from a git bundle on another one; what was done there is fetched into the same
reference. No setting, hook or filter of a repository runs, and nothing else of it changes. `Landings` make what a task
did to the files of the directory itself: all of it, or nothing.
"""

from ohm_subagents.contract.workspace import Conflict, Hunk, Landing
from ohm_subagents.workspaces.choice import workspaces_of
from ohm_subagents.workspaces.clone import OpenClone
from ohm_subagents.workspaces.git_workspaces import GitWorkspaces
from ohm_subagents.workspaces.landings import Landings
from ohm_subagents.workspaces.task_workspaces import TaskWorkspaces
from ohm_subagents.workspaces.work import Beginning, Parent, Work, ref_of

__all__ = [
    "Beginning",
    "Conflict",
    "GitWorkspaces",
    "Hunk",
    "Landing",
    "Landings",
    "OpenClone",
    "Parent",
    "TaskWorkspaces",
    "Work",
    "ref_of",
    "workspaces_of",
]
