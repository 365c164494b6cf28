"""Run several tasks at once: results in input order, and one failure that stops no other."""

import anyio

from ohm_subagents import Ohm

TASKS = [
    {"subagent_type": "finder", "description": "Auth scan", "prompt": "Trace token validation"},
    {"subagent_type": "no-such-profile", "description": "A typo", "prompt": "This one is refused"},
    {"subagent_type": "oracle", "description": "Retry review", "prompt": "Is the backoff right?"},
]


async def main() -> None:
    async with Ohm.open(config={"subagentBackend": "none"}) as ohm:
        result = await ohm.call("task", {"op": "start", "tasks": TASKS, "parallel": True})
        print(result.details["summary"])
        print(result.details["batch_status"])


anyio.run(main)

# Prints:
# Completed batch tasks: 2/2 succeeded (1 rejected)
# partial
