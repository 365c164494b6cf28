"""Stop a run that hangs, and keep the work that it has done."""

import anyio

from ohm_subagents import Budget, Err, Limits, Ohm
from ohm_subagents.contract import FileChanged, TextDelta
from ohm_subagents.testing import ScriptedBackend, Step

WORK = (FileChanged(path="notes.md"), TextDelta(text="Half of it is in notes.md."))


async def main() -> None:
    hangs = ScriptedBackend(Step(events=WORK, gate=anyio.Event()))  # the gate never opens
    async with Ohm.open(config={"subagentBackend": "scripted"}, plugins=[hangs]) as ohm:
        limits, budget = Limits(idle_ms=200), Budget(requests=20)
        match await ohm.run("task", "Write it all down.", limits=limits, budget=budget):
            case Err(error):
                print(error.code)
                envelope = ohm.envelope(error.task_id or "")
                if envelope is not None:
                    print(envelope.stopped_by, envelope.files, envelope.assistant_text)
            case _:
                print("It never hangs.")


anyio.run(main)

# Prints:
# task_backend_timeout
# idle ['notes.md'] Half of it is in notes.md.
