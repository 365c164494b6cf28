"""A process that works on one task, `task_theirs`, for two lines of its standard input.

`python hold_child.py <directory>` says the number of the first event, and `told` once it has told more of the task.
"""

import sys
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from store_tasks import Clock, Hand, opened

from ohm_subagents.contract import TextDelta


def say(line):
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def main(directory):
    clock = Clock()
    async with opened("sqlite", Path(directory), clock) as store:
        hand = Hand(store, clock)
        task = hand.started("task_theirs", TextDelta(text="so far"))
        await store.flush()
        say(store.first_sequence)
        await anyio.to_thread.run_sync(sys.stdin.readline)
        hand.tell(task, TextDelta(text=" and further"))
        await store.flush()
        say("told")
        await anyio.to_thread.run_sync(sys.stdin.readline)


anyio.run(main, sys.argv[1])
