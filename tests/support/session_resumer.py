"""A real process that goes on with a delegated session until it is told to end, or is killed.

with session_resumer(place, session_id) as process:
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
from ohm_subagents.testing import HERMETIC


@contextmanager
def session_resumer(place, session_id):
    with forked(__file__, place, session_id) as process:
        assert process.stdout.readline() == "begun\n"
        yield process


async def act(_request, _sink):
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    await to_thread.run_sync(sys.stdin.readline)
    return "held"


def opened(place, act):
    """An `Ohm` with `delegate` that keeps its tasks in a place, for whoever opens one there."""
    own = {"HOME": str(place), "PI_CONFIG_DIR": str(place), "OHM_SUBAGENTS_STORE": "sqlite"}
    return Ohm.open(
        cwd=Path(place),
        env=HERMETIC | own,
        config={"subagentBackend": "acting"},
        suites=["delegate"],
        plugins=[ActingBackend(act)],
    )


async def resumed(ohm, session_id=None):
    """The result of a call of one task, in a session of old if one is named."""
    task = {"name": "t", "prompt": "go on", **({"resume": session_id} if session_id else {})}
    return await ohm.call("delegate_to_subagents", {"tasks": [task]})


async def main(place, session_id):
    async with opened(place, act) as ohm:
        result = await resumed(ohm, session_id)
    assert not result.is_error, result.text


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])
