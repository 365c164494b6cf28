"""Deliveries: a consumer gets each task that settles, acknowledges it, and after a restart gets only what is left.

Needs no key and no network: the backend `none` echoes what it is asked. The tasks are kept in a directory of its own.
"""

import tempfile

import anyio

from ohm_subagents import Ohm

CONFIG = {"subagentBackend": "none"}


async def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        env = {"PI_CONFIG_DIR": directory, "OHM_SUBAGENTS_STORE": "sqlite"}
        async with Ohm.open(config=CONFIG, env=env) as ohm:
            deliveries = ohm.deliveries("reports")
            for question in ("Where is output cut?", "Where are tasks kept?"):
                await ohm.run("finder", question)
            first, second = await anext(deliveries), await anext(deliveries)
            await first.ack()
            print(f"acknowledged: {first.task.assignment.description}")
            print(f"got, not acknowledged: {second.task.assignment.description}")

        async with Ohm.open(config=CONFIG, env=env) as ohm:  # as after a crash
            again = await anext(ohm.deliveries("reports"))
            print(f"again: {again.task.assignment.description}")
            await again.ack()


anyio.run(main)

# Prints:
# acknowledged: Where is output cut?
# got, not acknowledged: Where are tasks kept?
# again: Where are tasks kept?
