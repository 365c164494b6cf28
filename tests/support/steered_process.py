"""A process that runs a task with processes of its own for each line that it reads, and says the ids of both.

`python steered_process.py <folder of the registry>`
"""

import os
import sys
from functools import partial

import anyio
from acting import ActingBackend
from anyio import to_thread

from ohm_subagents import Ohm
from ohm_subagents.shell.process import Launch, Supervisor
from ohm_subagents.testing import HERMETIC

SCRIPT = "sleep 1000 & echo $! $$; wait"


async def main(folder: str) -> None:
    async def act(request, sink):
        launch = Launch(command=("sh", "-c", SCRIPT), cwd=request.cwd, env={"PATH": os.environ["PATH"]})
        async with Supervisor.open(grace_s=0.2) as supervisor:
            child = (await supervisor.start(launch)).unwrap()
            pids = await anext(child.lines())
            await ohm.store.flush()
            sys.stdout.write(f"{request.task_id} {pids.decode()}\n")
            sys.stdout.flush()
            await child.ended()
        return "never"

    env = HERMETIC | {"PI_CONFIG_DIR": folder, "OHM_SUBAGENTS_STORE": "sqlite"}
    config = {"subagentBackend": "acting"}
    async with Ohm.open(env=env, config=config, plugins=[ActingBackend(act)]) as ohm:
        while await to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
            await ohm.start("finder", "work")


if __name__ == "__main__":
    anyio.run(partial(main, sys.argv[1]))
