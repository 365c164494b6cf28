"""The agents that are known, and how each is kept to the tools of a profile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ohm_acp.agents import CLAUDE, OPENCODE, QWEN, agent_of
from ohm_acp.options import AcpOptions
from ohm_subagents.contract import SessionId, TaskId
from ohm_subagents.plugin import ModelPattern, Profile, RunRequest, RunSpec
from ohm_subagents.testing.scenarios import note_tool

PROFILE = Profile(id="p", name="P", summary="", prompt="")


def asked(*tools: str, is_bounded: bool = True, **more: Any) -> RunRequest:
    fields: dict[str, Any] = {"instructions": "You read.", "cwd": Path("/work"), "description": "", **more}
    spec = RunSpec(profile=PROFILE, tools=tools, tools_are_bounded=is_bounded, **fields)
    return RunRequest(task_id=TaskId("t"), session_id=SessionId("s"), prompt="p", spec=spec)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("claude-agent-acp",), "claude"),
        (("npx", "@agentclientprotocol/claude-agent-acp"), "claude"),
        (("/opt/opencode", "acp"), "opencode"),
        (("qwen", "--acp"), "qwen"),
        (("codex-acp",), "codex"),
        (("/home/claude/agents/mine", "--acp"), "other"),
        (("gemini", "--acp"), "other"),
    ],
)
def test_the_words_of_a_command_tell_the_agent_and_its_folders_do_not(command: tuple[str, ...], name: str) -> None:
    assert agent_of(AcpOptions(command=command)).name == name
    assert agent_of(AcpOptions(command=command, agent="other")).name == "other"


def test_claude_gets_the_tools_by_its_session() -> None:
    assert CLAUDE.meta(asked("read", "find", "ls")) == {
        "claudeCode": {"options": {"settingSources": ["user"], "strictMcpConfig": True, "tools": ["Read", "Glob"]}},
        "systemPrompt": {"append": "You read."},
    }
    assert CLAUDE.settings(asked(model=ModelPattern(provider="anthropic", model="m")))["ANTHROPIC_MODEL"] == "m"


def test_claude_does_not_begin_before_it_knows_its_child_tools() -> None:
    assert CLAUDE.settings(asked(child_tools=(note_tool([]),)))["MCP_CONNECT_TIMEOUT_MS"] == "120000"
    assert "MCP_CONNECT_TIMEOUT_MS" not in CLAUDE.settings(asked())


def test_opencode_is_denied_all_other_tools_and_the_users_own_settings_stay() -> None:
    env = {"OPENCODE_CONFIG_CONTENT": '{"provider": {"mine": {}}, "agent": {"other": {}}}'}
    config = json.loads(OPENCODE.settings(asked("read", "write", env=env))["OPENCODE_CONFIG_CONTENT"])
    assert config["provider"] == {"mine": {}}
    assert config["agent"]["other"] == {}
    ours = config["agent"][config["default_agent"]]
    assert ours["permission"] == {"*": "deny", "read": "allow", "edit": "allow", "ohm_*": "allow"}
    assert ours["prompt"] == "You read."
    free = json.loads(OPENCODE.settings(asked("read", is_bounded=False))["OPENCODE_CONFIG_CONTENT"])
    assert "permission" not in free["agent"][free["default_agent"]]


@pytest.mark.parametrize(("tools", "named"), [(("read", "bash"), ["read_file", "run_shell_command"]), ((), ["none"])])
def test_qwen_starts_with_the_tools_alone(tools: tuple[str, ...], named: list[str]) -> None:
    argv = QWEN.arguments(asked(*tools, model=ModelPattern(provider="openai", model="m")))
    assert [word for word in argv if word.startswith("--core-tools=")] == [f"--core-tools={name}" for name in named]
    assert argv[-4:] == ["--model", "m", "--auth-type", "openai"]
    assert "--append-system-prompt=You read." in argv
    assert not [word for word in QWEN.arguments(asked(is_bounded=False)) if "tools" in word]
