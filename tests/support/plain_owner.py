"""A process with a task on files in no repository, killed on the way: `python plain_owner.py <directory> <n>`.

It is killed before the n-th time that it makes, opens to write, moves or removes a file, or ends, and says how many
times there were. The environment says where git is.
"""

import os
import signal
import sys
from pathlib import Path

import anyio

from ohm_subagents.workspaces import parts, workspaces_of

WRITES = os.O_WRONLY | os.O_RDWR


def writes(event, words):
    if event == "open":
        return isinstance(words[2], int) and bool(words[2] & WRITES)
    return event in {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "subprocess.Popen"}


def watching(seen, kill_at):
    def watch(event, words):
        if writes(event, words):
            seen.append(event)
            if len(seen) == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)

    return watch


async def work(directory, kill_at):
    parts.SMALLEST_PART = 3
    workspaces = workspaces_of(os.environ).unwrap()
    seen = []
    sys.addaudithook(watching(seen, int(kill_at)))
    beginning = (await workspaces.begin(Path(directory), "task_1")).unwrap()
    async with workspaces.clone(beginning, "session") as clone:
        (clone.unwrap().directory / "a").write_text("by the task\n")
        os.write(1, b"worked\n")
        (await workspaces.keep_clone(beginning, clone.unwrap())).unwrap()
    os.write(1, f"{len(seen)}\n".encode())


if __name__ == "__main__":
    anyio.run(work, *sys.argv[1:])
