"""A scripted agent in a sandbox: it works in its directory, and reaches its client and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from acp_stage import Stage, answered, command_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio
COMMAND = "shell cat ../secret > got; echo x > ../new; echo y > made"


@pytest.fixture
def anyio_backend() -> str:
    """The ACP library runs on asyncio only."""
    return "asyncio"


async def did(here: Path, **settings: Any) -> str:
    """Have an agent read a secret and write outside of its directory; return what it has read."""
    work = here / "work"
    (here / "secret").write_text("s3cret")
    stage = Stage(here, options={"agent": "claude", "command": list(command_of(work))})
    async with stage.ohm(**settings) as ohm:
        assert (await answered(ohm, COMMAND, "free")).output == "Hello from the agent."
    assert (work / "made").read_text() == "y\n"
    return (work / "got").read_text()


@pytest.mark.slow
async def test_without_a_sandbox_an_agent_reads_a_secret_and_writes_outside(tmp_path: Path) -> None:
    assert await did(tmp_path) == "s3cret"
    assert (tmp_path / "new").exists()


async def test_an_agent_in_a_sandbox_does_its_task_and_reaches_neither(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", f"{tmp_path}")  # where the agent keeps its sessions
    assert await did(tmp_path, sandbox="required") == ""
    assert not (tmp_path / "new").exists()
