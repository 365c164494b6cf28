"""A process that runs tasks on a scripted backend until somebody kills it; prints the id and answer of each.

`python kill_child.py <directory> [<step> <count>]`: at the count-th time that the writer reaches a step (`before
transaction`, `before commit`, `after commit`) the process kills itself. One task, the first, works until then.
"""

import os
import signal
import sys
from itertools import count
from pathlib import Path

import anyio

from ohm_subagents import Ohm
from ohm_subagents._app.sources import system_clock
from ohm_subagents.contract import Checkpointed, RouteResolved, TextDelta, ToolEnded, ToolStarted, UsageAdded
from ohm_subagents.contract.usage import Usage
from ohm_subagents.store import RetentionPolicy, StoreRequest
from ohm_subagents.stores.sqlite.opening import open_sqlite
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step

POLICY = RetentionPolicy(max_entries=1_000_000)
CONFIG = {"subagentBackend": "scripted", "taskMaxEntries": POLICY.max_entries, "subagents": {"maxRunning": 8}}
WORK = (
    RouteResolved(model="m"),
    TextDelta(text="look"),
    ToolStarted(call_id="c", tool="read", args="x"),
    ToolEnded(call_id="c", tool="read", status="success", text="y"),
    UsageAdded(usage=Usage(requests=1)),
    Checkpointed(state='["a conversation"]'),
    *(TextDelta(text=f" {number}") for number in range(20)),
)
ENDLESS = "work until the process is killed"


def answer(task_id):
    return f"answer of {task_id}"


class Answering(ScriptedBackend):
    async def run(self, request, sink):
        if request.prompt == ENDLESS:
            await anyio.sleep_forever()
        await super().run(request, sink)
        from ohm_subagents.contract import Ok
        from ohm_subagents.plugin import RunOutput

        return Ok(RunOutput(text=answer(request.task_id)))


def killer(step, number):
    seen = count(1)

    def reached(name):
        if name == step and next(seen) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return reached


def say(word, task_id):
    os.write(1, f"{word} {task_id}\n".encode())


async def main(directory, fault_point):
    async with (
        open_sqlite(
            StoreRequest(directory=directory, clock=system_clock, policy=POLICY), fault_point=fault_point
        ) as store,
        Ohm.open(
            env=HERMETIC, config=CONFIG, plugins=[Answering(default=Step(events=WORK, delay_s=0.001))], store=store
        ) as ohm,
        anyio.create_task_group() as group,
    ):

        async def work():
            while True:
                handle = await ohm.start("finder", "p")
                await store.flush()
                say("accepted", handle.id)
                await handle.wait()
                await store.flush()
                say("answered", handle.id)

        endless = await ohm.start("finder", ENDLESS)
        await store.flush()
        say("accepted", endless.id)
        for _ in range(4):
            group.start_soon(work)


if __name__ == "__main__":
    where, *when = sys.argv[1:]
    anyio.run(main, Path(where), killer(when[0], int(when[1])) if when else lambda _: None)
