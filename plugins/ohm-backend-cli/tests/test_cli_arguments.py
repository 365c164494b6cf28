"""The call of each CLI: tools, model, instructions, session, environment."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cli_streams import AGENTS, DIALECTS, asked, lines, replayed

from ohm_backend_cli.checkpoint import Checkpoint
from ohm_subagents.plugin import CallRules, DiagnosticRaised, Exchange
from ohm_subagents.shell import Invocation
from ohm_subagents.testing.refusal import Judge

if TYPE_CHECKING:
    from ohm_subagents.plugin import RunRequest

READ = ("read", "grep", "find", "ls", "code_search")
ALL = ("read", "bash", "edit", "write", "grep", "find", "ls")
SESSION = Checkpoint(session="s-1").model_dump_json()
CLAUDE = (
    "-p --output-format stream-json --verbose --include-partial-messages --setting-sources user --strict-mcp-config"
)
CODEX = "exec --json --skip-git-repo-check -s"
OPENCODE = "run --format json --pure --thinking --print-logs --log-level ERROR --agent ohm-subagent"
GEMINI = "--output-format stream-json --approval-mode default --policy=<folder>/tools.toml"
QWEN = "--output-format stream-json --include-partial-messages --approval-mode default"
QWEN_WITHOUT = " ".join(
    f"--exclude-tools={name}"
    for name in (
        *("agent", "ask_user_question", "exit_plan_mode", "monitor", "send_message", "skill", "task_stop"),
        "tool_search",
    )
)


def arguments(cli: str, request: RunRequest, folder: Path) -> str:
    argv = DIALECTS[cli].arguments(Invocation(request=request, folder=folder))
    return " ".join(argv).replace(str(folder), "<folder>")


def settings(cli: str, request: RunRequest, folder: Path) -> dict[str, str]:
    return dict(DIALECTS[cli].settings(Invocation(request=request, folder=folder)))


@pytest.mark.parametrize(
    ("cli", "asks", "argv"),
    [
        ("claude", {"tools": READ}, f"{CLAUDE} --tools=Read,Grep,Glob --permission-mode dontAsk"),
        (
            "claude",
            {"tools": ALL, "model": "anthropic/opus", "thinking": "xhigh", "instructions": "Be X."},
            f"{CLAUDE} --tools=Read,Bash,Edit,Write,Grep,Glob --permission-mode acceptEdits --allowedTools=Bash "
            "--append-system-prompt=Be X. --model opus --effort xhigh",
        ),
        (
            "claude",
            {"checkpoint": SESSION, "model": "anthropic/opus", "thinking": "off"},
            f"{CLAUDE} --tools= --permission-mode dontAsk --model opus --resume s-1",
        ),
        ("codex", {"tools": READ}, f"{CODEX} read-only -c features.multi_agent=false -"),
        ("codex", {}, f"{CODEX} read-only -c features.multi_agent=false -c features.shell_tool=false -"),
        (
            "codex",
            {"tools": ALL, "model": "openai/gpt-9", "thinking": "off", "instructions": 'Say "x"\nénd.'},
            f'{CODEX} workspace-write -c features.multi_agent=false -m gpt-9 -c model_provider="openai" '
            '-c model_reasoning_effort="none" -c developer_instructions="Say \\"x\\"\\nénd." -',
        ),
        (
            "codex",
            {"tools": READ, "checkpoint": SESSION, "instructions": "Be X."},
            f"{CODEX} read-only -c features.multi_agent=false resume s-1 -",
        ),
        ("opencode", {"tools": READ}, OPENCODE),
        (
            "opencode",
            {"model": "openrouter/deepseek/r1:free", "thinking": "high", "checkpoint": SESSION},
            f"{OPENCODE} --model openrouter/deepseek/r1:free --variant high --session s-1",
        ),
        ("gemini", {"tools": READ}, GEMINI),
        (
            "gemini",
            {"tools": ALL, "model": "google/gemini-9", "checkpoint": SESSION},
            f"{GEMINI} --model gemini-9 --resume s-1",
        ),
        (
            "qwen",
            {"tools": ("read", "bash"), "model": "openai/q-9", "instructions": "Be X."},
            f"{QWEN} --core-tools=read_file --allowed-tools=read_file --core-tools=run_shell_command "
            f"--allowed-tools=run_shell_command {QWEN_WITHOUT} --append-system-prompt=Be X. --model q-9 "
            "--auth-type openai",
        ),
        ("qwen", {"checkpoint": SESSION}, f"{QWEN} --core-tools=none {QWEN_WITHOUT} --resume s-1"),
    ],
)
def test_the_arguments_say_what_is_asked(cli: str, asks: dict[str, Any], argv: str, tmp_path: Path) -> None:
    assert arguments(cli, asked(**asks), tmp_path) == argv


@pytest.mark.parametrize("cli", DIALECTS)
def test_a_profile_that_only_reads_gets_nothing_that_writes(cli: str, tmp_path: Path) -> None:
    request = asked(tools=READ)
    said = arguments(cli, request, tmp_path) + json.dumps(settings(cli, request, tmp_path))
    said += "".join(file.read_text() for file in tmp_path.iterdir())
    agent = next(agent for agent in AGENTS if agent.id == cli)
    writing = {agent.tools[tool] for tool in ("bash", "edit", "write")} | {"workspace-write", "yolo", "acceptEdits"}
    assert [word for word in writing if word in said.replace("read-only", "")] == []


def test_gemini_gets_a_policy_that_denies_all_but_the_tools_asked_for(tmp_path: Path) -> None:
    _ = arguments("gemini", asked(tools=("read", "bash")), tmp_path)
    rules = tomllib.loads((tmp_path / "tools.toml").read_text())["rule"]
    assert [(rule["toolName"], rule["decision"]) for rule in rules] == [
        ("*", "deny"),
        (["read_file", "run_shell_command"], "allow"),
    ]
    assert rules[0]["priority"] < rules[1]["priority"]
    _ = arguments("gemini", asked(), tmp_path)
    assert len(tomllib.loads((tmp_path / "tools.toml").read_text())["rule"]) == 1


def test_gemini_reads_its_instructions_from_a_private_file(tmp_path: Path) -> None:
    file = settings("gemini", asked(instructions="Be X."), tmp_path)["GEMINI_SYSTEM_MD"]
    assert Path(file).read_text() == "Be X."
    assert Path(file).parent == tmp_path


def test_opencode_gets_an_agent_beside_what_the_user_has_set(tmp_path: Path) -> None:
    theirs = {"OPENCODE_CONFIG_CONTENT": '{"provider": {"p": {}}, "agent": {"own": {}}}'}
    request = asked(tools=("read", "write"), instructions="Be X.", env=theirs)
    config = json.loads(settings("opencode", request, tmp_path)["OPENCODE_CONFIG_CONTENT"])
    assert config["provider"] == {"p": {}}
    assert set(config["agent"]) == {"own", "ohm-subagent"}
    assert config["agent"]["ohm-subagent"] == {
        "mode": "primary",
        "permission": {"*": "deny", "read": "allow", "edit": "allow"},
        "prompt": "Be X.",
    }


@pytest.mark.parametrize("broken", ["{", "[]", '{"agent": 1}'])
def test_a_broken_setting_of_the_user_does_not_break_opencode(broken: str, tmp_path: Path) -> None:
    config = settings("opencode", asked(env={"OPENCODE_CONFIG_CONTENT": broken}), tmp_path)["OPENCODE_CONFIG_CONTENT"]
    assert json.loads(config)["agent"]["ohm-subagent"]["permission"] == {"*": "deny"}


def test_claude_can_be_told_not_to_think(tmp_path: Path) -> None:
    assert settings("claude", asked(model="anthropic/opus", thinking="off"), tmp_path)["MAX_THINKING_TOKENS"] == "0"
    assert "MAX_THINKING_TOKENS" not in settings("claude", asked(), tmp_path)


@pytest.mark.parametrize("cli", DIALECTS)
def test_the_prompt_goes_to_standard_input_as_it_is(cli: str, tmp_path: Path) -> None:
    prompt = "--help @file\n  line separator"
    assert DIALECTS[cli].prompt(Invocation(request=asked(prompt=prompt), folder=tmp_path)) == prompt


@pytest.mark.parametrize("cli", DIALECTS)
@pytest.mark.parametrize("checkpoint", [None, "not ours", "{}", '{"session": 1}'])
def test_without_a_session_the_prompt_brings_what_was_said_before(
    cli: str, checkpoint: str | None, tmp_path: Path
) -> None:
    request = asked(checkpoint=checkpoint, history=(Exchange(prompt="First?", output="Answer."),))
    said = DIALECTS[cli].prompt(Invocation(request=request, folder=tmp_path))
    assert ["First?" in said, "Answer." in said, said.endswith("Do it.")] == [True, True, True]
    assert "resume" not in arguments(cli, request, tmp_path)


@pytest.mark.parametrize(
    ("cli", "model", "has", "has_not"),
    [
        ("claude", "anthropic/opus", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"),
        ("codex", "openai/gpt-9", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"),
        ("gemini", "google/g", "GEMINI_API_KEY", "OPENAI_API_KEY"),
        ("opencode", "openai/gpt-9", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"),
        ("opencode", "my-own/m", "MY_OWN_API_KEY", "OPENAI_API_KEY"),
        ("opencode", "", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY"),
        ("qwen", "anthropic/m", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"),
        ("qwen", "", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"),
    ],
)
def test_only_the_keys_of_the_provider_are_passed_on(cli: str, model: str, has: str, has_not: str) -> None:
    keys = set(DIALECTS[cli].keys(asked(model=model)))
    assert has in keys
    assert has_not not in keys


@pytest.mark.parametrize(
    ("cli", "asks", "sentences"),
    [
        ("claude", {"tools": ALL, "model": "anthropic/opus", "thinking": "off"}, []),
        (
            "claude",
            {"model": "bedrock/opus", "thinking": "minimal"},
            [
                'claude is given the model "opus" alone and has its own settings for where models are, so '
                '"bedrock" has no effect.',
                'claude has no thinking level "minimal"; "low" is used.',
            ],
        ),
        ("codex", {"tools": READ}, ["codex reads by running commands, in a sandbox that can write nothing."]),
        (
            "codex",
            {"tools": ("read", "edit")},
            ["codex cannot be limited to edit: it may write and run commands below the folder."],
        ),
        ("codex", {"tools": ALL, "model": "openai/gpt-9", "thinking": "minimal"}, []),
        ("opencode", {"model": "x/y", "thinking": "off"}, ["opencode cannot turn thinking off."]),
        (
            "opencode",
            {"tools": ("write",), "model": "x/y", "thinking": "high"},
            [
                'opencode is told the variant "high", which has an effect only if the model has one of this name.',
                "opencode has one permission for edit and write, so the subagent has both.",
            ],
        ),
        (
            "qwen",
            {"tools": ("write",), "model": "groq/y"},
            [
                "qwen writes only when it may edit as well, so the subagent may.",
                'qwen finds provider "groq" in its own settings, or not at all.',
            ],
        ),
        ("qwen", {"tools": ALL, "model": "openai/y"}, []),
    ],
)
def test_nothing_is_left_out_silently(cli: str, asks: dict[str, Any], sentences: list[str]) -> None:
    stream = {
        "claude": "claude-2.1.197-shell.jsonl",
        "codex": "codex-0.169.0-shell.jsonl",
        "opencode": "opencode-1.18.33-shell.jsonl",
        "qwen": "qwen-0.15.10-shell.jsonl",
    }[cli]
    events = replayed(cli, lines(stream)[:1], request=asked(**asks)).events
    assert [event.diagnostic.message for event in events if isinstance(event, DiagnosticRaised)] == sentences


def test_claude_is_allowed_nothing_with_an_effect_beforehand_where_it_has_to_ask(tmp_path: Path) -> None:
    ruled = asked(tools=ALL, call_rules=(CallRules(ask=("git push *",)),))
    request = replace(ruled, gate=Judge(None, lambda: 0))
    assert arguments("claude", request, tmp_path) == (
        f"{CLAUDE} --tools=Read,Bash,Edit,Write,Grep,Glob --permission-mode dontAsk --input-format stream-json"
    )
