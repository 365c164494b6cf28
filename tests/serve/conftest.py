"""A server in the process of the test, whose runs wait for the test."""

from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path

import anyio
import pytest
from acting import ActingBackend

from ohm_subagents import Ohm
from ohm_subagents.serve import serve
from ohm_subagents.testing import HERMETIC

WAITING = Path(__file__).parent / "waiting"


def waiting_backend():
    """The module of the distribution in `waiting`."""
    return import_module("waiting_backend")


class Desk:
    """The place of a server, and of the programs that use it."""

    def __init__(self, directory, waiting):
        self.directory = directory
        self.waiting = waiting
        self.socket = directory / "sockets" / "ohm.sock"
        self.env = HERMETIC | {
            "PI_CONFIG_DIR": str(directory),
            "OHM_SUBAGENTS_STORE": "sqlite",
            "OHM_SUBAGENTS_LOAD_PLUGINS": "waiting",
        }

    def program(self, backend="waiting", **options):
        """An `Ohm` of another program, as far as the server is concerned."""
        return Ohm.open(
            **{"server": self.socket, "cwd": self.directory, "env": self.env, "config": {"subagentBackend": backend}}
            | options
        )

    def acting(self, act, **options):
        """An `Ohm` of a program whose runs are what a function does, in the server."""
        waiting_backend().offered[:] = [ActingBackend(act)]
        return self.program("acting", **options)

    async def tell(self, answer):
        """Let the run that waits answer."""
        with anyio.fail_after(5):
            await self.waiting.tell(answer)

    @asynccontextmanager
    async def server(self, idle_s=60.0):
        """Listens while the context is open; gives the event of its end."""
        listening, ended, stop = anyio.Event(), anyio.Event(), anyio.Event()

        async def served():
            assert await serve(self.socket, idle_s=idle_s, listening=listening.set, stop=stop) is None
            ended.set()

        async with anyio.create_task_group() as group:
            group.start_soon(served)
            await listening.wait()
            yield ended
            stop.set()


@pytest.fixture
def desk(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(WAITING)
    backends = waiting_backend()
    backends.waiting = backends.Waiting()
    yield Desk(tmp_path, backends.waiting)
    backends.offered.clear()
