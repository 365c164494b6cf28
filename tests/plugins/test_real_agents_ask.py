"""The real agents ask before a call that has a rule: approved, it runs once; denied or expired, never."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import pytest
from agent_models import agent_model
from anyio import to_thread
from asking_agents import REAL, RUNNER, opened
from real_agents import PATIENCE_S
from run_requests import run_request

from ohm_backend_cli.claude import CLAUDE
from ohm_subagents import Answer, Approve, Deny, Request
from ohm_subagents.contract import SessionId, TaskId
from ohm_subagents.plugin import CallRules, ToolPolicy
from ohm_subagents.shell import Invocation
from ohm_subagents.testing.refusal import Judge

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2 * PATIENCE_S), pytest.mark.anyio]
EXPIRY_MS = 4_000
FILES = ("once", "never", "late", "often")


class Person:
    """Answers by the file that a command adds to; what adds to `late` is not answered."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.is_asked = anyio.Event()

    async def __call__(self, request: Request) -> Answer:
        (file,) = (one for one in FILES if f">> {one}" in request.arguments)
        self.asked.append(f"{request.tool} {file}")
        self.is_asked.set()
        match file:
            case "once":
                return Approve()
            case "often":
                return Approve("always")
            case "late":
                await anyio.sleep_forever()
        return Deny("Not this one.")


@pytest.fixture
def anyio_backend() -> str:
    """A process takes real time."""
    return "asyncio"


@pytest.mark.parametrize(("agent", "runs"), [("claude", 2), ("claude-acp", 1), ("opencode-acp", 1), ("pi", 1)])
async def test_an_approved_call_runs_exactly_once_and_a_denied_or_expired_one_never(
    agent: str, runs: int, tmp_path: Path
) -> None:
    real, person, work = REAL[agent], Person(), tmp_path / "work"
    commands = [f"echo ran >> {file}" for file in (*FILES, "often")]
    with agent_model(*map(real.call, commands)) as model:
        async with opened(real, model.url, tmp_path, expire_ms=EXPIRY_MS, approvals=person) as ohm:
            handles = [await ohm.start("runner", "Run a.")]
            await person.is_asked.wait()  # in an empty home some agents get in each other's way
            handles += [await ohm.start("runner", "Run b.") for _ in range(1, runs)]
            together = [(await handle.wait()).unwrap() for handle in handles]
    assert [one.status for one in together] == ["succeeded"] * runs
    ran = {file.name: file.read_text().count("ran") for file in work.iterdir() if file.name in FILES}
    assert ran == {"once": runs, "often": 2 * runs}
    often = person.asked.count("bash often")
    assert 1 <= often <= runs, "approved for good, by the first that asked or by each before the other was answered"
    assert sorted(person.asked) == sorted(["bash once", "bash never", "bash late"] * runs + ["bash often"] * often)


RULES = (CallRules(ask=("*",), source="a rule"), CallRules(ask=("*",), tool="write", source="a rule"))
CLAUDE_CALLS = {"bash": ("=Bash", {"command": "echo ran > ran", "description": "Run it."})}
CLAUDE_CALLS |= {file: ("=Write", {"file_path": file, "content": "written"}) for file in ("within", "../beyond")}


async def test_claude_writes_below_its_directory_alone_whatever_was_approved(tmp_path: Path) -> None:
    async def approve(_request: Request) -> Answer:
        return Approve()

    real = REAL["claude"]
    writer = replace(RUNNER, tools=ToolPolicy(allowed=("bash", "write"), call_rules=RULES))
    with agent_model(*CLAUDE_CALLS.values()) as model:
        async with opened(real, model.url, tmp_path, approvals=approve) as ohm:
            task = ohm.task((await ohm.run(writer, "Run a.", backend=real.backend)).unwrap().task_id)
    assert task is not None
    assert {file.name for file in (tmp_path / "work").iterdir()} == {"ran", "within"}
    assert not (tmp_path / "beyond").exists()


def left_alone(command: Sequence[str], work: Path, env: Mapping[str, str]) -> None:
    """Let Claude Code ask about its calls, and close the channel at the first question, as if this was killed."""
    hook = {"hookCallbackIds": ["gate"], "timeout": 1000}
    begin = {"subtype": "initialize", "hooks": {"PreToolUse": [hook]}}
    prompt = {"type": "user", "message": {"role": "user", "content": "Run a."}}
    with subprocess.Popen(command, cwd=work, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(
            b"%s\n" % json.dumps({"type": "control_request", "request_id": "1", "request": begin}).encode()
        )
        process.stdin.flush()
        for line in process.stdout:
            match json.loads(line):
                case {"type": "control_response"}:
                    process.stdin.write(b"%s\n" % json.dumps(prompt).encode())
                    process.stdin.flush()
                case {"type": "control_request"}:
                    process.stdin.close()
                case _:
                    pass


async def test_a_call_of_which_nobody_can_be_asked_any_more_is_not_made_by_claude(tmp_path: Path) -> None:
    real, work = REAL["claude"], tmp_path / "work"
    work.mkdir()
    asked = {"prompt": "Run a.", "profile": RUNNER, "cwd": work, "description": "", "instructions": ""}
    ids = {"task_id": TaskId("task_1"), "session_id": SessionId("session_1")}
    tools = {"tools": ("read", "bash", "write"), "call_rules": RULES, "gate": Judge(None, lambda: 0)}
    request = run_request(**asked, **ids, **tools)
    argv = CLAUDE.dialect().arguments(Invocation(request=request, folder=tmp_path))
    with agent_model(*CLAUDE_CALLS.values()) as model:
        command = [*real.options()["command"], *argv, "--model", "claude-fake-1"]
        await to_thread.run_sync(left_alone, command, work, real.env(model.url, tmp_path))
    assert len(model.read) == len(CLAUDE_CALLS)
    assert [*work.iterdir()] == []
