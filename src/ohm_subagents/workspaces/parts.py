"""Many files at once: a part of them by each core of the machine."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar

import anyio
from anyio import to_thread

from ohm_subagents._config.env import process_env
from ohm_subagents.workspaces import part as program

SMALLEST_PART: Final = 2000
"""Files for which another process is worth its start."""
PROCESSES: Final = min(os.cpu_count() or 1, 8)
"""Processes that work at once. Threads would not do: half of the work is Python's."""
_OF_PYTHON: Final = ("LD_LIBRARY_PATH",)
"""The variables without which a Python may not start."""
_Given = TypeVar("_Given")
_Done = TypeVar("_Done")
_Work: TypeAlias = Callable[[str, str, list[_Given]], list[_Done]]


async def by_parts(work: _Work[_Given, _Done], one: str, other: str, given: list[_Given]) -> list[_Done]:
    """Return what is done to all, in any order, by a function whose module needs nothing but the standard library.

    Nothing of a part that fails is among it, though what that has written by then stays.
    """
    size = max(SMALLEST_PART, len(given) // PROCESSES + 1)
    here, *others = [given[at : at + size] for at in range(0, len(given), size)] or [[]]
    done = list[_Done]()

    async def elsewhere(part: list[_Given]) -> None:
        done.extend(await _done_elsewhere(work, one, other, part))

    async with anyio.create_task_group() as workers:
        for part in others:
            workers.start_soon(elsewhere, part)
        done.extend(await to_thread.run_sync(_attempted, work, one, other, here))
    return done


def _attempted(work: _Work[_Given, _Done], one: str, other: str, part: list[_Given]) -> list[_Done]:
    try:
        return work(one, other, part)
    except OSError:
        return []


async def _done_elsewhere(work: _Work[_Given, _Done], one: str, other: str, part: list[_Given]) -> list[_Done]:
    function = (f"{sys.modules[work.__module__].__file__}", work.__name__)
    command = (sys.executable, "-I", "-S", program.__file__, *function, f"{os.getpid()}")
    found = process_env()
    env = {name: found[name] for name in _OF_PYTHON if name in found}
    given = await to_thread.run_sync(json.dumps, (one, other, part))
    written = b""
    try:
        done = await anyio.run_process(command, input=given.encode(), check=False, env=env, start_new_session=True)
        written = b"" if done.returncode else done.stdout
    except* (OSError, anyio.BrokenResourceError):  # it has ended before it had read all
        pass
    return await to_thread.run_sync(json.loads, written) if written else []
