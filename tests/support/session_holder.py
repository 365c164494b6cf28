"""A real process whose agent works in a sticky session until it is told to end, or is killed.

with session_holder(place, session_id) as process:
    ...it works...
    process.stdin.write("\\n")
"""

import sys
from contextlib import contextmanager
from pathlib import Path

import anyio
from acting import ActingBackend
from anyio import to_thread
from forking import forked

from ohm_subagents import Ohm
from ohm_subagents.contract import Checkpointed, Finalized
from ohm_subagents.testing import HERMETIC


@contextmanager
def session_holder(place, session_id):
    with forked(__file__, place, session_id) as process:
        assert process.stdout.readline() == "begun\n"
        yield process


async def act(request, sink):
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    await to_thread.run_sync(sys.stdin.readline)
    sink.emit(Checkpointed(state=f"{request.checkpoint or ''}{request.prompt};"))
    sink.emit(Finalized(status="SUCCESS", result="held"))
    return ""


async def main(place, session_id):
    opened = Ohm.open(
        cwd=Path(place) / "work",
        env=HERMETIC | {"HOME": place},
        config={"subagentBackend": "acting"},
        suites=["sticky"],
        plugins=[ActingBackend(act)],
    )
    async with opened as ohm:
        await ohm.call("subagent", {"agent": "scout", "task": "first", "sessionId": session_id})


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
