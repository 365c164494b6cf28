"""The door for workspaces: a clone of a directory for each task, and the way back of what the task did to it.

The files of a directory, uncommitted and untracked ones included, become a commit that `refs/ohm/<task>` keeps. A clone
of it is made on the same machine, or from a git bundle on another one; what was done there is fetched into the same
reference. No setting, hook or filter of a repository runs, and nothing else of it changes.
"""

from ohm_subagents.workspaces.git_workspaces import Beginning, GitWorkspaces, OpenClone, Work, ref_of

__all__ = [
    "Beginning",
    "GitWorkspaces",
    "OpenClone",
    "Work",
    "ref_of",
]
