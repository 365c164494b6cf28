"""Processes in a sandbox end as others do: at a stop, with their daemons, and when their owner is killed."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import pytest
from anyio import to_thread

from ohm_subagents.sandbox import Box, Sandbox, box_for, this_machine
from ohm_subagents.shell import Launch, Supervisor

if TYPE_CHECKING:
    from pathlib import Path

    from ohm_subagents.contract.sandbox import Mechanism

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60, func_only=True)]


@pytest.fixture
def anyio_backend() -> str:
    """One event loop is enough: what differs is below it."""
    return "asyncio"


MECHANISMS = ("bubblewrap", "landlock")


async def box_at(workspace: Path, mechanism: Mechanism) -> Box:
    """A box of this mechanism, which this machine has to have."""
    machine = this_machine()
    if (mechanism == "bubblewrap" and machine.closed) or (mechanism == "landlock" and not machine.landlock):
        pytest.skip(f"this machine has no {mechanism}: {machine}")
    box = (await box_for(Sandbox(mode="required"), workspace, {"HOME": "/home/nobody"})).unwrap()
    assert isinstance(box, Box)
    return replace(box, mechanism=mechanism)


@pytest.fixture(params=MECHANISMS)
async def box(request: pytest.FixtureRequest, tmp_path: Path) -> Box:
    return await box_at(tmp_path, request.param)


class Alive:
    """The reading end of a pipe in the workspace, which processes in the box hold open for as long as they live."""

    def __init__(self, workspace: Path) -> None:
        self.path = workspace / "alive"
        os.mkfifo(self.path)

    async def up(self) -> None:
        self._file = await to_thread.run_sync(self.path.open, abandon_on_cancel=True)
        assert await to_thread.run_sync(self._file.readline) == "up\n"

    async def gone(self) -> None:
        with anyio.fail_after(60):
            assert "up" not in await to_thread.run_sync(self._file.read, abandon_on_cancel=True)
        self._file.close()


def launch(box: Box, command: str) -> Launch:
    env = {"PATH": "/usr/bin:/bin", "HOME": "/home/nobody"}
    return Launch(command=("sh", "-c", command), cwd=box.workspace, env=env, prompt=b"", box=box)


async def test_a_stopped_command_gets_its_signal_and_time_to_end(box: Box) -> None:
    alive = Alive(box.workspace)
    command = "trap 'echo bye > said; exit' TERM; exec 3> alive; echo up >&3; while :; do sleep 0.05; done"
    async with Supervisor.open(grace_s=60) as supervisor:
        child = (await supervisor.start(launch(box, command))).unwrap()
        await alive.up()
        child.stop()
        await alive.gone()
    assert (box.workspace / "said").read_text() == "bye\n"


async def test_a_directory_that_is_kept_is_kept_although_it_is_copied_too(box: Box, tmp_path: Path) -> None:
    kept = tmp_path.with_name(f"{tmp_path.name}-kept")
    kept.mkdir()
    async with Supervisor.open() as supervisor:
        held = launch(box.with_needs(copies=(kept,), writes=(kept,)), f"echo x > {kept}/new")
        await (await supervisor.start(held)).unwrap().ended()
    assert (kept / "new").read_text() == "x\n"


async def test_daemons_end_with_the_command_that_has_left_them(box: Box) -> None:
    alive = Alive(box.workspace)
    command = "(exec 3> alive; echo up >&3; trap '' TERM HUP; setsid sleep 1000 &) ; exit 3"
    async with Supervisor.open() as supervisor:
        child = (await supervisor.start(launch(box, command))).unwrap()
        await alive.up()
        ended = await child.ended()
        child.stop()
        await alive.gone()
    assert ended.code == 3


OWNER = """
import sys
import anyio
from pathlib import Path
from ohm_subagents.sandbox import Sandbox, box_for
from ohm_subagents.shell import Launch, Supervisor
from dataclasses import replace

async def main(workspace, mechanism):
    env = {"PATH": "/usr/bin:/bin", "HOME": "/home/nobody"}
    box = replace((await box_for(Sandbox(mode="required"), Path(workspace), env)).unwrap(), mechanism=mechanism)
    async with Supervisor.open() as supervisor:
        command = ("sh", "-c", "exec 3> alive; echo up >&3; setsid sleep 1000 & sleep 1001")
        (await supervisor.start(Launch(command=command, cwd=Path(workspace), env=env, box=box))).unwrap()
        await anyio.sleep_forever()

anyio.run(main, *sys.argv[1:])
"""


@pytest.mark.sample(2)
async def test_nothing_is_left_when_the_owner_is_killed(box: Box) -> None:
    alive = Alive(box.workspace)
    async with await anyio.open_process(
        [sys.executable, "-c", OWNER, str(box.workspace), box.mechanism], stdin=None, stdout=None, stderr=None
    ) as owner:
        await alive.up()
        owner.kill()
        await alive.gone()
