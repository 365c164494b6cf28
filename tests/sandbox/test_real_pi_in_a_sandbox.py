"""A real nested `pi`, bare and in a sandbox: only a bare one reaches what is not its task's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from model_server import Call, ModelServer, Say
from pi_desk import Desk
from real_pi import NEW, installed

from ohm_subagents.contract import ToolEnded

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.anyio, pytest.mark.real_pi, pytest.mark.slow, pytest.mark.timeout(120, func_only=True)]


@pytest.fixture
def anyio_backend() -> str:
    """Real time."""
    return "asyncio"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    pi = installed(NEW)
    return Desk(tmp_path, replace(pi, command=pi.program))


async def told(desk: Desk, sandbox: Any) -> str:
    """Have a pi read a secret and write outside of its directory; return what its model reads."""
    (desk.home / "secret").write_text("s3cret")
    command = f"cat {desk.home}/secret; echo x > {desk.home}/new; echo made > made"
    async with ModelServer(Say(Call("bash", {"command": command})), Say("Done.")) as server, desk.ohm(server) as ohm:
        handle = await ohm.start("task", "go", sandbox=sandbox)
        events = [event async for event in handle.events()]
        assert (await handle.wait()).unwrap().output == "Done."
    assert (desk.work / "made").read_text() == "made\n"
    assert desk.processes() == []
    return next(event.text for event in events if isinstance(event, ToolEnded))


async def test_a_bare_pi_reads_a_secret_and_writes_outside_of_its_directory(desk: Desk) -> None:
    assert "s3cret" in await told(desk, "off")
    assert (desk.home / "new").exists()


async def test_a_pi_in_a_sandbox_does_its_task_and_reaches_neither(desk: Desk) -> None:
    assert "s3cret" not in await told(desk, "required")
    assert not (desk.home / "new").exists()
