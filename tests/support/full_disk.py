"""Makes workspaces where there is no room for them: `python full_disk.py <directory> <place>` prints each error."""

import os
import sys
from pathlib import Path

import anyio
from git_trees import fingerprint, repository

from ohm_subagents.workspaces import GitWorkspaces


async def main(directory, place):
    parent = repository(Path(directory) / "parent", a="one\n")
    (parent / "big").write_bytes(os.urandom(3_000_000))
    before = fingerprint(parent)
    workspaces = GitWorkspaces(Path(place) / "cache", {"PATH": os.environ["PATH"], "HOME": directory})
    beginning = (await workspaces.begin(parent, "task_1")).unwrap()
    say((await workspaces.bundle(beginning)).unwrap_err())
    async with workspaces.clone(beginning) as clone:
        say(clone.unwrap_err())
    say(names(place), fingerprint(parent) == before)


def names(directory):
    return sorted(path.name for path in Path(directory).rglob("*"))


def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\n")


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
