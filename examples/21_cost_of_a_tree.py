"""Show the usage of a task, that of all tasks below it, and what is left of the budget."""

import anyio

from ohm_subagents import Budget, Ohm, Ok
from ohm_subagents.contract import Usage, UsageAdded
from ohm_subagents.testing import ScriptedBackend, Step


def used(requests: int) -> tuple[UsageAdded, ...]:
    return (UsageAdded(usage=Usage(requests=requests)),)


async def main() -> None:
    done = anyio.Event()
    backend = ScriptedBackend(Step(events=used(2), gate=done, text="all of it"), Step(events=used(5), text="a part"))
    config = {"subagentBackend": "scripted", "subagents": {"budget": {"depth": 2}}}
    async with Ohm.open(config=config, plugins=[backend]) as ohm:
        outer = await ohm.start("task", "Look into all of it.", budget=Budget(requests=20))
        await ohm.run("finder", "Look into a part.", parent=outer.id)  # as a tool of the subagent would
        done.set()
        match await outer.wait():
            case Ok(envelope) if envelope.usage is not None and envelope.usage.tree is not None:
                print("own:", envelope.usage.requests, "tree:", envelope.usage.tree.requests)
                print("left:", envelope.remaining and envelope.remaining.requests)
            case other:
                print(other)


anyio.run(main)

# Prints:
# own: 2 tree: 7
# left: 13
