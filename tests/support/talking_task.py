"""A process that keeps a task which talks.

`python talking_task.py <folder>` says the id of the task, and lets it say more for each line that it reads.
"""

import sys
from functools import partial

import anyio
from anyio import to_thread
from made_tasks import queued_task

from ohm_subagents import Ohm
from ohm_subagents.contract import RunStarted, TaskQueued, TextDelta, ToolEnded, ToolStarted, apply
from ohm_subagents.testing import HERMETIC


def said(number):
    """The words at a number, and a call with much text."""
    call = f"call_{number}"
    yield TextDelta(text=f"Now module {number}.\n")
    yield ToolStarted(call_id=call, tool="bash", args=f'{{"command": "make module-{number}"}}')
    yield ToolEnded(call_id=call, tool="bash", status="success", text="made\n" * 9)


async def main(folder):
    env = HERMETIC | {"PI_CONFIG_DIR": folder, "HOME": folder, "OHM_SUBAGENTS_STORE": "sqlite"}
    async with Ohm.open(env=env, config={"subagents": {}}) as ohm:
        task = queued_task("task_talking", profile="finder", description="Document it", prompt="p", created_ms=1)

        async def tell(*events):
            nonlocal task
            for event in events:
                task = apply(task, event, at_ms=task.updated_ms + 1)
                ohm.store.save(task, event)
            await ohm.store.flush()

        await tell(TaskQueued(), RunStarted(prompt="p"), *(event for number in range(60) for event in said(number)))
        sys.stdout.write("task_talking\n")
        sys.stdout.flush()
        number = 60
        while await to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
            await tell(*said(number))
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()
            number += 1


if __name__ == "__main__":
    anyio.run(partial(main, sys.argv[1]))
