"""A process that lands, and ends at a step: `python lander.py <directory> <root> <step> [task]`; -1 ends at none."""

import os
import signal
import sys
from pathlib import Path

import anyio
from git_trees import write

from ohm_subagents.workspaces import GitWorkspaces, Landings

AFTER = {
    "a": (b"by the task\n", False),
    "b": None,
    "d": None,
    "d/e": (b"below\n", False),
    "new": (b"new\n", False),
}
"""The files that `act` makes; None for one that it removes."""


def act(clone):
    write(clone, a="by the task\n", new="new\n")
    (clone / "b").unlink()
    (clone / "d").unlink()
    (clone / "d").mkdir()
    write(clone / "d", e="below\n")


async def main(directory, root, at, task="task_1"):
    steps = []

    def step(name):
        if len(steps) == int(at):
            os.kill(os.getpid(), signal.SIGKILL)
        steps.append(name)

    workspaces = GitWorkspaces(Path(root), {"PATH": os.environ["PATH"]})
    landing = (await Landings(workspaces, step=step).land(Path(directory), task)).unwrap()
    sys.stdout.write(f"{landing.landed}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
