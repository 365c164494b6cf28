"""A real nested `pi`, bare and in a sandbox: only a bare one reaches what is not its task's."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from git_trees import repository
from model_server import Call, ModelServer, Say
from pi_desk import Desk
from real_pi import NEW, installed

from ohm_subagents import Ohm
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


def step(command: str) -> tuple[Say, Say]:
    return Say(Call("bash", {"command": command})), Say("Done.")


def restarted(desk: Desk, server: ModelServer) -> Any:
    """An `Ohm` that keeps its tasks for the next one."""
    kept = {"PI_CONFIG_DIR": f"{desk.agent}", "XDG_CACHE_HOME": f"{desk.home}/.cache", "OHM_SUBAGENTS_STORE": "sqlite"}
    return Ohm.open(cwd=desk.work, env=desk.env | kept, config=desk.config(server))


async def test_a_pi_in_a_clone_and_its_sandbox_is_landed_and_resumed_after_a_restart(desk: Desk) -> None:
    repository(desk.work, a="zero\n")
    escape = f"echo escaped >> {desk.work}/a; echo x > {desk.home}/new"
    held = {"isolation": "clone", "sandbox": "required"}
    script = (*step(f"echo one >> a; {escape}"), *step(f"cat a > seen; echo two >> a; {escape}"))
    async with ModelServer(*script) as server:
        async with restarted(desk, server) as ohm:
            first = (await ohm.run("task", "The first.", **held)).unwrap().task_id or ""
            assert (desk.work / "a").read_text() == "zero\n"
        async with restarted(desk, server) as ohm:
            (await ohm.land(first)).unwrap()
            assert (desk.work / "a").read_text() == "zero\none\n"
            sent = await ohm.call("task", {"op": "send", "id": first, "prompt": "The second."})
            (await ohm.land(sent.details["task_id"])).unwrap()
    assert "The first." in f"{server.requests[-1].messages}"
    assert (desk.work / "a").read_text() == "zero\none\ntwo\n"
    assert (desk.work / "seen").read_text() == "zero\none\n"
    assert not (desk.home / "new").exists()
    assert desk.processes() == []
