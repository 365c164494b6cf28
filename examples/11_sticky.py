"""Run an agent that has to hand in its answer and keeps its context over a restart of the program."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from ohm_subagents import Ohm
from ohm_subagents.plugin import Checkpointed, Finalized
from ohm_subagents.testing import ScriptedBackend, Step


def handing_in(result: str) -> Step:
    """Take the place of a model that calls `subagent_finalize`; a real one keeps its conversation as the state."""
    final = Finalized(status="SUCCESS", result=result)
    return Step(events=(final, Checkpointed(state=f"said: {result}")), text="Bye.")


async def main(home: Path) -> None:
    first = ScriptedBackend("Done, I think.", handing_in("In routes.py."))
    async with opened(home, first) as ohm:
        done = await ohm.call("subagent", {"agent": "scout", "task": "Where are the routes registered?"})
    session = str(done.details["sessionId"])
    print(*filter(None, done.text.replace(session, "(an id)").split("\n")), sep="\n")
    print(len(first.calls), "runs:", first.calls[1].prompt.partition(":")[0])

    second = ScriptedBackend(handing_in("Above them."))
    async with opened(home, second) as ohm:
        more = await ohm.call("subagent", {"agent": "scout", "task": "And the middleware?", "sessionId": session})
    print(more.details["finalized"], "resumed:", more.details["resumed"])
    print("remembers", second.calls[0].checkpoint)


def opened(home: Path, backend: ScriptedBackend) -> AbstractAsyncContextManager[Ohm]:
    env = {"HOME": str(home), "OHM_SUBAGENTS_STORE": "memory"}
    config = {"subagentBackend": "scripted"}
    return Ohm.open(cwd=home, env=env, config=config, suites=["sticky"], plugins=[backend])


with TemporaryDirectory() as folder:
    anyio.run(main, Path(folder))

# Prints:
# **Status:** SUCCESS
# **Session ID:** `(an id)`
# ---
# In routes.py.
# 2 runs: You have ended without a valid call of `subagent_finalize`
# {'status': 'SUCCESS', 'result': 'Above them.'} resumed: True
# remembers said: In routes.py.
