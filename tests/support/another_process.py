"""A real process that has started a task and goes on with it until it is killed.

with another_process(folder) as (task_id, process):  # the call is `elsewhere`
    ...it runs...
...it was killed with SIGKILL...
"""

import subprocess
import sys
from contextlib import contextmanager

SCRIPT = """
import sys
import anyio
from ohm_subagents import Ohm
from ohm_subagents.contract import TextDelta, ToolStarted
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step

async def main():
    events = (TextDelta(text="so far"), ToolStarted(call_id="1", tool="read", args="a.py"))
    backend = ScriptedBackend(Step(events=events, gate=anyio.Event()))
    env = HERMETIC | {"PI_CONFIG_DIR": sys.argv[1], "OHM_SUBAGENTS_STORE": "sqlite"}
    async with Ohm.open(env=env, config={"subagentBackend": "scripted"}, plugins=[backend]) as ohm:
        start = {"op": "start", "subagent_type": "finder", "description": "p", "prompt": "p"}
        call = await ohm.begin("task", start, call_id="elsewhere")
        async for each in call.events():
            if each.event.kind == "tool_started":
                await ohm.store.flush()
                print(each.task_id, flush=True)

anyio.run(main)
"""


@contextmanager
def another_process(folder):
    command = [sys.executable, "-c", SCRIPT, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
        try:
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()
