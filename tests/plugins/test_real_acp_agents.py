"""The real agents that speak ACP, installed from npm and on a scripted model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from agent_models import END, agent_model
from git_trees import repository
from real_agents import OPENCODE, PATIENCE_S, QWEN, installed

import ohm_acp
from ohm_subagents import Ohm, tool
from ohm_subagents.config import process_env
from ohm_subagents.plugin import Profile, ToolPolicy

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2 * PATIENCE_S), pytest.mark.anyio]
CALLS = (("add", {"a": 2, "b": 3}), ("subagent_finalize", {"status": "SUCCESS", "result": {"sum": 5}}))
SUM = {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]}
CODEX = ("@zed-industries/codex-acp", "0.16.0", "codex-acp")
CLAUDE = ("@zed-industries/claude-agent-acp", "0.23.1", "claude-agent-acp")
ADDER = Profile(
    id="adder",
    name="Adder",
    summary="Adds.",
    prompt="You add.",
    tools=ToolPolicy(allowed=("read",)),
    finalize="required",
    result_schema=SUM,
)
READER = Profile(
    id="reader", name="Reader", summary="Reads.", prompt="You read.", tools=ToolPolicy(allowed=("read", "bash"))
)


@dataclass(frozen=True)
class Real:
    """An agent, and what it needs to reach a model at an address."""

    package: tuple[str, str, str]
    arguments: tuple[str, ...]
    model: str
    shell: str
    """Its name for the shell."""

    def environment(self, url: str, home: Path) -> dict[str, str]:
        if self.package is CLAUDE:
            return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "k", "CLAUDE_CONFIG_DIR": f"{home / 'claude'}"}
        if self.package is QWEN:
            return {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{url}/v1"}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{url}/v1", "apiKey": "k"},
            "models": {"m": {"name": "m"}},
        }
        return {"OPENCODE_CONFIG_CONTENT": json.dumps({"provider": {"scripted": provider}})}


REAL = {
    "claude-acp": Real(CLAUDE, (), "anthropic/claude-fake-1", "Bash"),
    "qwen-acp": Real(QWEN, ("--acp",), "openai/m", "run_shell_command"),
    "opencode-acp": Real(OPENCODE, ("acp",), "scripted/m", "bash"),
}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@pytest.fixture
def anyio_backend() -> str:
    """A process takes real time."""
    return "asyncio"


def opened(agent: str, url: str, home: Path, store: str = "memory") -> Any:
    real, work = REAL[agent], home / "work"
    work.mkdir(exist_ok=True)
    backend = {"type": "acp", "command": [installed(*real.package), *real.arguments]}
    subagents = {"model": real.model, "sendToFinished": "resume", "backends": {agent: backend}}
    env = {"PATH": process_env()["PATH"], "HOME": f"{home}", "OHM_SUBAGENTS_STORE": store}
    env |= {"PI_CONFIG_DIR": f"{home / 'ohm'}", **real.environment(url, home)}
    config = {"subagentBackend": agent, "subagents": subagents}
    return Ohm.open(cwd=work, env=env, config=config, profiles=[ADDER, READER], plugins=[ohm_acp])


@pytest.mark.parametrize("agent", REAL)
async def test_its_model_is_offered_and_calls_the_child_tools_and_no_other(agent: str, tmp_path: Path) -> None:
    with agent_model(*CALLS) as model:
        async with opened(agent, model.url, tmp_path) as ohm:
            envelope = (await ohm.run("adder", "Add two and three.", tools=[add])).unwrap()

    assert envelope.data == {"sum": 5}
    assert [row.split(" ")[:2] for row in envelope.tool_rows] == [
        ["○", "add"],
        ["✓", "add"],
        ["○", "subagent_finalize"],
        ["✓", "subagent_finalize"],
    ]
    first = next(names for names in model.offered if names)
    for wanted in ("add", "subagent_finalize"):
        assert [name for name in first if name.endswith(wanted)], first
    assert not {name for name in first if name.lower() in {"bash", "write", "edit", "webfetch", "task"}}


@pytest.mark.parametrize("agent", REAL)
async def test_its_shell_is_shown_and_its_session_is_continued(agent: str, tmp_path: Path) -> None:
    real = REAL[agent]
    with agent_model((f"={real.shell}", {"command": "echo hi-from-bash", "description": "say hi"})) as model:
        async with opened(agent, model.url, tmp_path) as ohm:
            handle = await ohm.start("reader", "Say hi.")
            events = [event async for event in handle.events()]
            sent = await ohm.call("task", {"op": "send", "id": handle.id, "prompt": "And now?"})
    started = next(one for one in events if one.kind == "tool_started")
    ended = next(one for one in events if one.kind == "tool_ended")
    assert (started.tool, "echo hi-from-bash" in started.args) == (real.shell, True)
    assert "hi-from-bash" in ended.text
    assert sent.details["output"] == END
    assert not [one for one in sent.details.get("diagnostics") or () if "session" in one]


async def test_a_claude_in_a_clone_and_its_sandbox_is_landed_and_resumed_after_a_restart(tmp_path: Path) -> None:
    agent, work = "claude-acp", repository(tmp_path / "work", a="zero\n")
    (tmp_path / "secret").write_text("s3cret")
    command = f"cat {tmp_path}/secret; echo x > {tmp_path}/new; echo escaped >> {work}/a; echo one >> a"
    with agent_model((f"={REAL[agent].shell}", {"command": command, "description": "look"})) as model:
        async with opened(agent, model.url, tmp_path, store="sqlite") as ohm:
            handle = await ohm.start("reader", "Look.", isolation="clone", sandbox="required")
            events = [event async for event in handle.events()]
            assert (work / "a").read_text() == "zero\n"
        async with opened(agent, model.url, tmp_path, store="sqlite") as ohm:
            (await ohm.land(f"{handle.id}")).unwrap()
            sent = await ohm.call("task", {"op": "send", "id": handle.id, "prompt": "And now?"})
    assert "s3cret" not in next(one.text for one in events if one.kind == "tool_ended")
    assert ((work / "a").read_text(), (tmp_path / "new").exists()) == ("zero\none\n", False)
    assert sent.details["output"] == END
    assert not [one for one in sent.details.get("diagnostics") or () if "session" in one]


async def test_codex_calls_the_child_tools_and_its_warnings_are_no_answer(tmp_path: Path) -> None:
    anybody = Profile(id="anybody", name="Anybody", summary="Does.", prompt="You do.")
    (tmp_path / "work").mkdir()
    (tmp_path / "codex").mkdir()
    with agent_model(CALLS[0]) as model:
        lines = (
            'model = "m"',
            'model_provider = "scripted"',
            'approval_policy = "never"',
            "[model_providers.scripted]",
            'name = "scripted"',
            f'base_url = "{model.url}/v1"',
            'wire_api = "responses"',
            'env_key = "SCRIPTED_KEY"',
        )
        (tmp_path / "codex" / "config.toml").write_text("\n".join(lines))
        backend = {"type": "acp", "command": [installed(*CODEX)], "env": {"SCRIPTED_KEY": "k"}}
        env = {"PATH": process_env()["PATH"], "HOME": f"{tmp_path}", "OHM_SUBAGENTS_STORE": "memory"}
        env |= {"PI_CONFIG_DIR": f"{tmp_path / 'ohm'}", "CODEX_HOME": f"{tmp_path / 'codex'}"}
        config = {"subagentBackend": "codex-acp", "subagents": {"backends": {"codex-acp": backend}}}
        work = tmp_path / "work"
        async with Ohm.open(cwd=work, env=env, config=config, profiles=[anybody], plugins=[ohm_acp]) as ohm:
            envelope = (await ohm.run("anybody", "Add two and three.", tools=[add])).unwrap()
    assert envelope.output == END
    assert [row.split(" ")[:2] for row in envelope.tool_rows] == [["○", "add"], ["✓", "add"]]
    assert any("Model metadata" in one for one in envelope.diagnostics)
