"""A process that holds a clone of a directory until it is killed: `python workspace_holder.py <directory> <root>`."""

import os
import sys
from pathlib import Path

import anyio

from ohm_subagents.workspaces import GitWorkspaces


async def hold(directory, root):
    workspaces = GitWorkspaces(Path(root), {"PATH": os.environ["PATH"]})
    async with workspaces.clone((await workspaces.begin(Path(directory), "task_1")).unwrap()) as clone:
        clone.unwrap().directory.chmod(0o500)
        os.write(1, f"{clone.unwrap().directory}\n".encode())
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(hold, *sys.argv[1:])
