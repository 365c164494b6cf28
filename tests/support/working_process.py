"""A process whose subagent `worker` works in it, on a model of the user's ohm.json; it may be killed at any time.

`python working_process.py <user's directory> <working directory>` says the ids of its requests, once one is open.
"""

import json
import sys
from functools import partial
from pathlib import Path

import anyio

from ohm_subagents import Ohm


def opened(user: Path, cwd: Path):
    env = {"PI_CONFIG_DIR": str(user), "ACME_KEY": "k", "PATH": "/usr/bin:/bin", "HOME": str(user)}
    return Ohm.open(cwd=cwd, env={**env, "OHM_SUBAGENTS_STORE": "sqlite"})


async def main(user: Path, cwd: Path) -> None:
    async with opened(user, cwd) as ohm:
        await ohm.start("worker", "Do it.")
        while not (cwd / "beside").exists() or not ohm.requests():  # noqa: ASYNC110  a test has no better news of it
            await anyio.sleep(0.02)
        await anyio.sleep(0.2)
        await ohm.store.flush()
        sys.stdout.write(json.dumps([one.id for one in ohm.requests()]) + "\n")
        sys.stdout.flush()
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(partial(main, Path(sys.argv[1]), Path(sys.argv[2])))
