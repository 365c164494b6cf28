"""`quick_ohm` whose tasks a server owns: another engine in the same process, behind a real socket and a real store."""

import threading
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from unittest.mock import patch

import anyio

from ohm_subagents import Ohm
from ohm_subagents._serve import hosted
from ohm_subagents.serve import serve
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step

CALM_S, LOOKS = 0.02, 3
TASKS = Path("/proc/self/task")


def quick_ohm_in(directory):
    """Return the `quick_ohm` of a directory, where the server has its socket and its store."""

    @asynccontextmanager
    async def quick_ohm(*steps, backend=None, config=None, plugins=(), cwd=".", profiles=None, suites=None):
        scripted = backend or ScriptedBackend(*steps, default=None if steps else Step(text="done"))
        ids = count(1)
        env = HERMETIC | {"PI_CONFIG_DIR": f"{directory}", "OHM_SUBAGENTS_STORE": "sqlite"}
        options = {"cwd": cwd, "config": {"subagentBackend": scripted.id, **(config or {})}, "env": env}
        here = {
            "plugins": [scripted, *plugins],
            "profiles": profiles,
            "new_task_id": lambda: f"task_{next(ids)}",
        }
        opened = hosted.opened_engine
        async with (
            patched(hosted, opened_engine=lambda given: opened({**given, **here})),
            serving(directory / "own" / "ohm.sock") as socket,
            Ohm.open(server=socket, suites=suites, **options) as ohm,
        ):
            yield ohm
        scripted.assert_done()

    return quick_ohm


@asynccontextmanager
async def patched(module, **names):
    with patch.multiple(module, **names):
        yield


@asynccontextmanager
async def serving(socket):
    """A server in this process."""
    listening, stop, raised = anyio.Event(), anyio.Event(), None
    async with anyio.create_task_group() as group:
        group.start_soon(partial(serve, socket, idle_s=60, listening=listening.set, stop=stop))
        await listening.wait()
        try:
            yield socket
        except Exception as error:  # noqa: BLE001  raised again below, as it came
            raised = error
        stop.set()
    if raised is not None:
        raise raised


async def calm():
    """Wait until nothing goes on in this process: `wait_all_tasks_blocked` does not wait for sockets and threads.

    A thread that a busy machine lets wait has not been calm, however long that takes.
    """
    calm_looks, before = 0, _other_threads()
    while calm_looks < LOOKS:
        await anyio.sleep(CALM_S)
        now = _other_threads()
        all_sleep = all(state == "S" for state, _ in now.values())
        calm_looks = calm_looks + 1 if all_sleep and now == before else 0
        before = now


def _other_threads():
    """Return of each other thread of this process its state and the nanoseconds that it has had of a processor."""
    own, seen = threading.get_native_id(), {}
    for task in TASKS.iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            state = (task / "stat").read_text().rpartition(")")[2].split()[0]
            seen[int(task.name)] = state, int((task / "schedstat").read_text().split()[0])
    return {thread: of_it for thread, of_it in seen.items() if thread != own}
