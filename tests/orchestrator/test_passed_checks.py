"""Commands of `accept` that have passed in a clone: they run again once a file has changed."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from ohm_subagents import Ohm
from ohm_subagents.plugin import Backend, BackendSpec, Capability, Ok, Options, RunOutput, hookimpl
from ohm_subagents.testing import HERMETIC

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable
    from pathlib import Path

    from ohm_subagents.plugin import OhmError, Result, RunRequest, Sink


@pytest.fixture
def anyio_backend() -> str:
    """Processes take real time."""
    return "asyncio"


class Writer:
    """A backend whose runs write a file if they are asked to."""

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        del sink
        if request.prompt.startswith("write"):
            (request.cwd / "out.md").write_text(request.prompt)
        return Ok(RunOutput(text="Done."))

    @hookimpl
    def ohm_backends(self) -> Iterable[BackendSpec]:
        @asynccontextmanager
        async def opened(_options: Options) -> AsyncGenerator[Backend]:
            yield self

        can = frozenset({Capability.CALL_RULES, Capability.SESSIONS})
        return [BackendSpec(id="writer", summary="Writes.", open=opened, options=Options, capabilities=can)]


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_command_that_has_passed_runs_again_only_once_a_file_of_the_clone_has_changed(tmp_path: Path) -> None:
    work, log = tmp_path / "work", tmp_path / "log"
    work.mkdir()
    accept = [f"run: echo passed >> {log}", f"run: echo failed >> {log}; false"]
    config = {"subagentBackend": "writer", "subagents": {"sendToFinished": "resume"}}
    env = {**HERMETIC, "PATH": os.environ["PATH"], "XDG_CACHE_HOME": f"{tmp_path}/cache"}
    seen: list[tuple[list[str], str | None]] = []
    async with Ohm.open(env=env, cwd=work, config=config, plugins=[Writer()]) as ohm:
        handle = await ohm.start("task", "write it", accept=accept, isolation="clone")
        await handle.wait()
        task_id = f"{handle.id}"
        for prompt in ("Sure?", "write more", ""):
            envelope = ohm.envelope(task_id)
            assert envelope is not None
            assert envelope.verification is not None
            assert [one.verdict for one in envelope.verification.checks] == ["passed", "failed"]
            seen.append((log.read_text().split(), envelope.verification.checks[0].why))
            log.unlink()
            if prompt:
                sent = await ohm.call("task", {"op": "send", "id": task_id, "prompt": prompt})
                task_id = f"{sent.details['task_id']}"
    assert seen == [
        (["passed", "failed"], None),
        (["failed"], "No file has changed since it passed, so it was not run again."),
        (["passed", "failed"], None),
    ]
