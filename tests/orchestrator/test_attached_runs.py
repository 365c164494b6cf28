"""A run that goes on without its program: how it is found again, and what counts of one that is lost meanwhile."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import pytest

from ohm_subagents import Budget, ErrorCode, Ohm
from ohm_subagents.plugin import (
    BackendSpec,
    Capability,
    Err,
    Ok,
    Options,
    RequestNeed,
    RunOutput,
    hookimpl,
)
from ohm_subagents.testing import HERMETIC

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from ohm_subagents.contract import Task
    from ohm_subagents.plugin import OhmError, Result, RunRequest, Sink

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])]
"""In real time: a clock that jumps would end a run that waits."""


class Lost:
    """A backend that has lost a run which is taken up, and begins it again; the first request of all never ends."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.granted = 0
        self.has_asked = anyio.Event()

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        assert request.feed is not None
        assert request.gate is not None
        self.keys.append(request.feed.key)
        async with request.gate.request(RequestNeed(provider="acme")) as granted:
            if isinstance(granted, Err):
                return granted
            self.granted += 1
            self.has_asked.set()
            await (anyio.sleep_forever() if self.granted == 1 else anyio.lowlevel.checkpoint())
        return Ok(RunOutput(text="done"))

    async def attach(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        assert request.feed is not None
        request.feed.lose()
        await request.feed.stored()
        return await self.run(request, sink)

    @hookimpl
    def ohm_backends(self) -> Sequence[BackendSpec]:
        @asynccontextmanager
        async def opened(_options: Options) -> AsyncGenerator[Lost]:
            yield self

        can = frozenset({Capability.ATTACHES, Capability.USAGE})
        return [BackendSpec(id="lost", summary="", options=Options, open=opened, capabilities=can)]

    def program(self, directory: Path, kept: str) -> AbstractAsyncContextManager[Ohm]:
        """A program in this directory that leaves its tasks, when it is closed, to the next with the same store."""
        env = {**HERMETIC, "PI_CONFIG_DIR": f"{directory / kept}", "OHM_SUBAGENTS_STORE": "sqlite"}
        config = {"subagentBackend": "lost", "subagents": {"onClose": "detach"}}
        return Ohm.open(cwd=directory, env=env, config=config, plugins=[self], new_task_id=lambda: "task_1")

    async def left(self, directory: Path, kept: str, budget: Budget) -> None:
        """Leave a task whose request is out."""
        async with self.program(directory, kept) as ohm:
            await ohm.start("finder", "p", budget=budget)
            await self.has_asked.wait()

    async def taken_up(self, directory: Path, kept: str) -> Task:
        """Take up the task that was left, and return it once it has settled."""
        async with self.program(directory, kept) as ohm:
            handle, task = ohm.handle("task_1"), None
            if handle is not None:
                await handle.wait()
                task = ohm.task("task_1")
        assert task is not None
        return task


async def test_the_request_that_a_lost_run_may_have_had_out_counts_before_it_is_begun_again(tmp_path: Path) -> None:
    backend = Lost()
    await backend.left(tmp_path, "kept", Budget(requests=1))
    task = await backend.taken_up(tmp_path, "kept")
    assert task.error is not None
    assert task.error.code == ErrorCode.BUDGET_EXCEEDED
    assert (backend.granted, task.activity.usage.requests) == (1, 1)


async def test_a_run_that_is_begun_again_has_what_is_left_of_its_budget(tmp_path: Path) -> None:
    backend = Lost()
    await backend.left(tmp_path, "kept", Budget(requests=2))
    task = await backend.taken_up(tmp_path, "kept")
    assert (task.output, backend.granted, task.activity.usage.requests) == ("done", 2, 2)


async def test_a_run_is_found_again_by_its_store_whatever_ids_the_tasks_of_other_stores_have(tmp_path: Path) -> None:
    backend = Lost()
    await backend.left(tmp_path, "kept", Budget())
    await backend.taken_up(tmp_path, "kept")
    async with backend.program(tmp_path, "other") as ohm:
        await ohm.run("finder", "p")
    first, again, other = backend.keys
    assert (first == again, first == other) == (True, False)
