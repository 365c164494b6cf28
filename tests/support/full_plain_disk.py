"""Begins a task on files in no repository where there is no room: `python full_plain_disk.py <directory> <cache>`."""

import os
import sys
from pathlib import Path

import anyio
from git_trees import fingerprint

from ohm_subagents.workspaces import parts, workspaces_of


async def main(directory, cache):
    parts.SMALLEST_PART = 3
    before = fingerprint(Path(directory))
    workspaces = workspaces_of({**os.environ, "XDG_CACHE_HOME": cache}).unwrap()
    error = (await workspaces.begin(Path(directory), "task_1")).unwrap_err()
    sys.stdout.write(f"{error.code} {left_in(Path(cache))} {fingerprint(Path(directory)) == before}")


def left_in(cache):
    return [path.name for pattern in ("**/*.pack", "*/workspaces/clones/*") for path in cache.glob(pattern)]


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
