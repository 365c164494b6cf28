"""A process that grows trees of tasks in a registry until it is killed; says a line for each task that begins."""

import random
import sys
from pathlib import Path

import anyio
from anyio.lowlevel import checkpoint

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from acting import ActingBackend

from ohm_subagents import Ohm
from ohm_subagents.contract import ToolEnded, ToolStarted, Usage, UsageAdded
from ohm_subagents.testing import HERMETIC


async def grow(place: str, seed: int) -> None:
    chance = random.Random(seed)

    async def act(request, sink):
        left = int(request.prompt)
        sys.stdout.write(f"{left}\n")
        sys.stdout.flush()
        for number in range(chance.randrange(20, 60)):
            sink.emit(UsageAdded(usage=Usage(requests=1, input_tokens=chance.randrange(50))))
            sink.emit(ToolStarted(call_id=f"{number}", tool="read"))
            await checkpoint()
            if chance.random() < 0.9:
                sink.emit(ToolEnded(call_id=f"{number}", tool="read", status="success"))
            if left and number % 15 == 0:
                await ohm.run("finder", f"{left - 1}")
        return "done"

    config = {"subagentBackend": "acting", "subagents": {"budget": {"depth": 9, "spawns": 10_000, "requests": 10**6}}}
    env = HERMETIC | {"PI_CONFIG_DIR": place, "OHM_SUBAGENTS_STORE": "sqlite"}
    async with Ohm.open(env=env, config=config, plugins=[ActingBackend(act)]) as ohm:
        while True:
            await ohm.run("finder", "3")


anyio.run(grow, sys.argv[1], int(sys.argv[2]))
