"""A real process that has started a task and goes on with it until it is killed.

with another_process(folder) as (task_id, process):  # the call is `elsewhere`
    ...it runs...
...it was killed with SIGKILL...
"""

import sys
from contextlib import contextmanager

import anyio
from forking import forked

from ohm_subagents import Ohm
from ohm_subagents.contract import TextDelta, ToolStarted
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step


@contextmanager
def another_process(folder):
    with forked(__file__, folder) as process:
        yield process.stdout.readline().strip(), process


async def main(folder):
    events = (TextDelta(text="so far"), ToolStarted(call_id="1", tool="read", args="a.py"))
    backend = ScriptedBackend(Step(events=events, gate=anyio.Event()))
    env = HERMETIC | {"PI_CONFIG_DIR": folder, "OHM_SUBAGENTS_STORE": "sqlite"}
    async with Ohm.open(env=env, config={"subagentBackend": "scripted"}, plugins=[backend]) as ohm:
        start = {"op": "start", "subagent_type": "finder", "description": "p", "prompt": "p"}
        call = await ohm.begin("task", start, call_id="elsewhere")
        async for each in call.events():
            if each.event.kind == "tool_started":
                await ohm.store.flush()
                sys.stdout.write(f"{each.task_id}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1])
