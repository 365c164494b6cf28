"""Makes workspaces where there is no room for them: `python full_disk.py <directory> <place>` prints each error."""

import os
import sys
from pathlib import Path

import anyio
from git_trees import fingerprint, repository

from ohm_subagents.workspaces import GitWorkspaces, Landings


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
    await landed(Path(place) / "project", GitWorkspaces(Path(directory) / "cache", {"PATH": os.environ["PATH"]}))


async def landed(place, workspaces):
    """Land a file in a repository on the full disk, and again once there is room."""
    parent = repository(place, a="one\n")
    beginning = (await workspaces.begin(parent, "task_1")).unwrap()
    async with workspaces.clone(beginning) as clone:
        made = clone.unwrap().directory
        (made / "a").write_text("two\n")
        (made / "big").write_bytes(os.urandom(150_000))
        done = (await clone.unwrap().work()).unwrap()
    (await workspaces.keep(parent, "task_1", done)).unwrap()
    room = os.statvfs(place)
    filler = place.parent / "filler"
    filler.write_bytes(bytes(room.f_bavail * room.f_bsize - 120_000))
    before = fingerprint(parent)
    landings = Landings(workspaces)
    say((await landings.land(parent, "task_1")).unwrap_err())
    say(fingerprint(parent) == before, (parent / "a").read_text().strip(), (parent / ".git" / "ohm-landing").exists())
    filler.unlink()
    say((await landings.land(parent, "task_1")).unwrap().landed, (parent / "a").read_text().strip())


def names(directory):
    return sorted(path.name for path in Path(directory).rglob("*"))


def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\n")


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
