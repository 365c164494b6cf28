"""A consumer of deliveries that is killed at any time; writes what it gets and what it has acknowledged into a file.

`python deliver_child.py <directory> <file> <consumer>` says a line for each delivery.
"""

import os
import sys

import anyio

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC


async def main(directory, file, consumer):
    log = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    env = HERMETIC | {"PI_CONFIG_DIR": directory, "OHM_SUBAGENTS_STORE": "sqlite"}
    async with Ohm.open(env=env, config={"subagentBackend": "none", "taskMaxEntries": 100}) as ohm:
        os.write(log, b"open - -\n")
        async for delivery in ohm.deliveries(consumer):
            os.write(log, f"got {delivery.session_id} {delivery.task_id}\n".encode())
            os.write(1, b"got\n")
            await delivery.ack()
            os.write(log, f"acked {delivery.session_id} {delivery.task_id}\n".encode())


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
