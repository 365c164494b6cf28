"""A program that starts a task of a server, prints its id, and goes on until it is killed."""

import sys

import anyio

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC


async def main(directory, socket, backend="waiting", prompt="first"):
    kept = {"PI_CONFIG_DIR": directory, "OHM_SUBAGENTS_STORE": "sqlite", "OHM_SUBAGENTS_LOAD_PLUGINS": "waiting"}
    options = {"cwd": directory, "env": HERMETIC | kept, "config": {"subagentBackend": backend}}
    async with Ohm.open(server=socket, **options) as ohm:
        handle = await ohm.start("finder", prompt)
        sys.stdout.write(f"{handle.id}\n")
        sys.stdout.flush()
        await handle.wait()


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
