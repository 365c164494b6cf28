"""The real CLIs, installed from npm and on a scripted model, use the child tools of their run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from agent_models import agent_model
from real_agents import CLAUDE, CODEX, OPENCODE, PATIENCE_S, QWEN, installed

import ohm_backend_cli
from ohm_subagents import Ohm, tool
from ohm_subagents.config import process_env
from ohm_subagents.plugin import Profile, ToolPolicy

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2 * PATIENCE_S), pytest.mark.anyio]
CALLS = (("add", {"a": 2, "b": 3}), ("subagent_finalize", {"status": "SUCCESS", "result": {"sum": 5}}))
SUM = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}


@dataclass(frozen=True)
class Real:
    """A CLI, and what it needs to reach a model at an address."""

    package: tuple[str, str, str]
    model: str

    def environment(self, url: str, home: Path) -> dict[str, str]:
        cli = self.package[2]
        if cli == "claude":
            return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "k", "CLAUDE_CONFIG_DIR": f"{home / 'claude'}"}
        if self.model.startswith("scripted/"):  # a service of ohm.json
            return {"SCRIPTED_KEY": "k"}
        return {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{url}/v1"}


REAL = {
    "claude": Real(CLAUDE, "anthropic/claude-fake-1"),
    "codex": Real(CODEX, "scripted/m"),
    "opencode": Real(OPENCODE, "scripted/m"),
    "qwen": Real(QWEN, "openai/m"),
}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture
def anyio_backend() -> str:
    """A process takes real time."""
    return "asyncio"


@pytest.mark.parametrize("cli", REAL)
async def test_its_model_is_offered_and_calls_the_child_tools_and_no_other(cli: str, tmp_path: Path) -> None:
    real = REAL[cli]
    config: dict[str, Any] = {
        "subagentBackend": cli,
        "subagents": {"model": real.model, "backends": {cli: {"command": [installed(*real.package)]}}},
    }
    adder = Profile(
        id="adder",
        name="Adder",
        summary="Adds.",
        prompt="You add.",
        tools=ToolPolicy(allowed=("read",)),
        finalize="required",
        result_schema=SUM,
    )
    work = tmp_path / "work"
    work.mkdir()
    with agent_model(*CALLS) as model:
        config["providers"] = {"scripted": {"baseUrl": f"{model.url}/v1", "apiKeyEnv": "SCRIPTED_KEY"}}
        env = {"PATH": process_env()["PATH"], "HOME": f"{tmp_path}", "OHM_SUBAGENTS_STORE": "memory"}
        env |= {"PI_CONFIG_DIR": f"{tmp_path / 'ohm'}", **real.environment(model.url, tmp_path)}
        async with Ohm.open(cwd=work, env=env, config=config, profiles=[adder], plugins=[ohm_backend_cli]) as ohm:
            envelope = (await ohm.run("adder", "Add two and three.", tools=[add])).unwrap()

    assert envelope.data == {"sum": 5}
    assert envelope.tool_rows is not None
    assert [row.split(" ")[:2] for row in envelope.tool_rows] == [
        ["○", "add"],
        ["✓", "add"],
        ["○", "subagent_finalize"],
        ["✓", "subagent_finalize"],
    ]
    first = next(names for names in model.offered if names)
    for wanted in ("add", "subagent_finalize"):
        assert [name for name in first if name.endswith(wanted)], first
