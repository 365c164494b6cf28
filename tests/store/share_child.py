"""One of several processes on one registry: runs tasks, looks at those of the others, prints the ids of its own.

`python share_child.py <directory> <count>`; it begins when a line comes in.
"""

import os
import sys

import anyio
from kill_child import Answering, answer

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC, Step


async def main(directory, count):
    env = HERMETIC | {"PI_CONFIG_DIR": directory, "OHM_SUBAGENTS_STORE": "sqlite"}
    config = {"subagentBackend": "scripted", "taskMaxEntries": 100_000, "subagents": {"maxRunning": 16}}
    async with Ohm.open(env=env, config=config, plugins=[Answering(default=Step(delay_s=0.002))]) as ohm:
        os.write(1, b"open\n")
        await anyio.to_thread.run_sync(sys.stdin.readline)
        left = iter(range(count))

        async def work():
            for _ in left:
                envelope = (await ohm.run("finder", "p")).ok_value
                assert envelope.output == answer(envelope.task_id)
                os.write(1, f"{envelope.task_id}\n".encode())

        async with anyio.create_task_group() as group:
            for _ in range(16):
                group.start_soon(work)
        dead = [task.id for task in ohm.store.tasks() if task.status in {"failed", "cancelled"}]
        assert (dead, ohm.diagnostics) == ([], ()), f"{[ohm.task(one) for one in dead]} {ohm.diagnostics}"


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], int(sys.argv[2]))
