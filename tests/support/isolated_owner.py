"""A process with a task on a clone, killed before a command of git: `python isolated_owner.py <directory> <root> <n>`.

It is killed before the n-th one, or ends, and says how many there were.
"""

import os
import signal
import sys
from pathlib import Path

import anyio

from ohm_subagents.workspaces import GitWorkspaces
from ohm_subagents.workspaces.git import Git


async def work(directory, root, kill_at):
    count, ended = 0, Git.ended

    async def counted(*arguments, **options):
        nonlocal count
        count += 1
        if count == int(kill_at):
            os.kill(os.getpid(), signal.SIGKILL)
        return await ended(*arguments, **options)

    Git.ended = counted
    workspaces = GitWorkspaces(Path(root), {"PATH": os.environ["PATH"]})
    beginning = (await workspaces.begin(Path(directory), "task_1")).unwrap()
    async with workspaces.clone(beginning, "session") as clone:
        (clone.unwrap().directory / "a").write_text("by the task\n")
        os.write(1, b"worked\n")
        (await workspaces.keep_clone(beginning, clone.unwrap())).unwrap()
    os.write(1, f"{count}\n".encode())


if __name__ == "__main__":
    anyio.run(work, *sys.argv[1:])
