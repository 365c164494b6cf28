"""Start a task in the background, send a follow-up while it runs, and wait for both answers."""

import anyio

from ohm_subagents import Err, Ohm, Ok
from ohm_subagents.testing import ScriptedBackend, Step


async def main() -> None:
    gate = anyio.Event()
    backend = ScriptedBackend(Step(text="It is in auth.py.", gate=gate), "And refresh is in token.py.")
    async with Ohm.open(config={"subagentBackend": "scripted"}, plugins=[backend]) as ohm:
        handle = await ohm.start("finder", "Where is login?")
        async with anyio.create_task_group() as group:

            async def follow_up() -> None:
                match await handle.send("And refresh?"):
                    case Ok(answer):
                        print(answer.output)
                    case Err(error):
                        print(error)

            group.start_soon(follow_up)
            await anyio.wait_all_tasks_blocked()
            gate.set()
        match await handle.wait():
            case Ok(envelope):
                print(envelope.status, envelope.task_id == handle.id)
            case Err(error):
                print(error)


anyio.run(main)

# Prints:
# And refresh is in token.py.
# succeeded True
