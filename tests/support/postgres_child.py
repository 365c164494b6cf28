"""One of several processes on one database: runs echo tasks, and says a line for each that has settled.

`python postgres_child.py <directory> <url> <count>` begins when a line comes in; `0` runs them until it is killed.
"""

import os
import sys
from itertools import count

import anyio

import ohm_postgres
from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC


def opened(directory, url):
    env = HERMETIC | {"PI_CONFIG_DIR": f"{directory}", "OHM_POSTGRES_URL": url, "OHM_SUBAGENTS_STORE": "postgres"}
    config = {"subagentBackend": "none", "taskMaxEntries": 100_000}
    return Ohm.open(env=env, config=config, plugins=[ohm_postgres])


async def main(directory, url, tasks):
    async with opened(directory, url) as ohm:
        os.write(1, b"open\n")
        await anyio.to_thread.run_sync(sys.stdin.readline)
        left = iter(range(tasks) if tasks else count())

        async def work():
            for number in left:
                envelope = (await ohm.run("finder", f"look {number}")).ok_value
                os.write(1, f"{envelope.task_id}\n".encode())

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(work)
        assert ohm.diagnostics == (), ohm.diagnostics


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], int(sys.argv[3]))
