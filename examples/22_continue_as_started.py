"""A session goes on as it was started, though the configuration has changed since; a diagnostic names each difference."""

import tempfile

import anyio

from ohm_subagents import Err, Ohm, Ok

BEFORE = {"subagentBackend": "none", "subagents": {"limits": {"capMs": 60_000}}}
SINCE = {"subagentBackend": "none", "subagents": {"limits": {"capMs": 120_000}}}


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        async with Ohm.open(config=BEFORE, env={"HOME": home}) as ohm:
            await ohm.run("finder", "Where is the parser?", session="parser")
        async with Ohm.open(config=SINCE, env={"HOME": home}) as ohm:
            match await ohm.run("finder", "And its tests?", session="parser"):
                case Ok(envelope):
                    task = ohm.task(envelope.task_id or "")
                    print("limit:", task and task.launch and task.launch.limits.cap_ms)
                    for line in envelope.diagnostics or []:
                        print(line.partition("started: ")[2])
                case Err(error):
                    print(error)


anyio.run(main)

# Prints:
# limit: 60000
# limits.capMs 60000 (now 120000). Start a new task for the settings of now.
