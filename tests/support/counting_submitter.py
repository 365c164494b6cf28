"""A program that starts a task on the runner of a directory, says its id, and waits for it; it may be killed.

`python counting_submitter.py <directory> <number>` counts up to the number. Another program goes on with it.
"""

import sys
from functools import partial
from pathlib import Path

import anyio
from counting_runner import CountingBackend

from ohm_subagents import Ohm


def opened(directory, backend=None, **settings):
    """An `Ohm` that counts, whose tasks are kept in the directory."""
    config = {"subagentBackend": "counting", "subagents": {"store": "sqlite", **settings}}
    env = {"PI_CONFIG_DIR": str(directory), "HOME": str(directory), "OHM_SUBAGENTS_LOAD_PLUGINS": "none"}
    return Ohm.open(cwd=directory, env=env, config=config, plugins=[backend or CountingBackend(directory)])


async def main(directory: Path, number: str) -> None:
    async with opened(directory) as ohm:
        handle = await ohm.start("task", number)
        async for _ in handle.events():
            if ohm.task(handle.id).text:
                break
        await ohm.store.flush()
        sys.stdout.write(f"{handle.id}\n")
        sys.stdout.flush()
        await handle.wait()
        sys.stdout.write("settled\n")
        sys.stdout.flush()
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(partial(main, Path(sys.argv[1]), sys.argv[2]))
