"""Each CLI through everything but itself: a program prints what the real one has printed, and writes down its call."""

from __future__ import annotations

import json
import stat
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from cli_streams import STREAMS, ended

import ohm_backend_cli
from ohm_subagents import Err, Ohm, Ok
from ohm_subagents.plugin import ErrorCode, Profile, ToolPolicy

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

pytestmark = pytest.mark.anyio

READER = Profile(
    id="reader",
    name="Reader",
    summary="Reads.",
    prompt="You read.",
    tools=ToolPolicy(allowed=("read", "grep")),
    env=("OF_THE_PROFILE",),
)
MODELS = {
    "claude": "anthropic/claude-fake-1",
    "codex": "openai/fake-1",
    "opencode": "fake/fake-1",
    "gemini": "google/gemini-2.5-flash",
    "qwen": "openai/fake-1",
}
VERSIONS = {
    "claude": "claude-2.1.197",
    "codex": "codex-0.169.0",
    "opencode": "opencode-1.18.33",
    "gemini": "gemini-0.61.0",
    "qwen": "qwen-0.15.10",
}
PROGRAM = """#!{python}
import json, os, sys
from pathlib import Path

here = Path({here!r})
call = {{"argv": sys.argv[1:], "stdin": sys.stdin.read(), "env": dict(os.environ), "cwd": os.getcwd()}}
calls = json.loads((here / "calls.json").read_text())
(here / "calls.json").write_text(json.dumps([*calls, call]))
said = json.loads((here / "plays.json").read_text())[len(calls)]
sys.stdout.buffer.write(Path(said["stream"]).read_bytes()[: said["bytes"]])
sys.stderr.write(said["stderr"])
sys.exit(said["code"])
"""


@dataclass(frozen=True)
class Stage:
    """The stage on which a program stands in for a CLI."""

    cli: str
    here: Path
    profiles: tuple[Profile, ...] | None = (READER,)

    def plays(self, *cases: str, kept: int | None = None) -> None:
        """Let it print recorded cases, call by call, each cut to `kept` bytes."""
        plays: list[dict[str, Any]] = []
        for case in cases:
            name = f"{VERSIONS[self.cli]}-{case}.jsonl"
            end = ended(name)
            plays.append({"stream": str(STREAMS / name), "bytes": kept, "code": end.code, "stderr": end.stderr})
        (self.here / "plays.json").write_text(json.dumps(plays))
        (self.here / "calls.json").write_text("[]")
        program = self.here / "program"
        program.write_text(PROGRAM.format(python=sys.executable, here=str(self.here)))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def calls(self) -> list[dict[str, Any]]:
        """Return how it was called."""
        calls: list[dict[str, Any]] = json.loads((self.here / "calls.json").read_text())
        return calls

    def ohm(self, *, fallback: str = "", unattended: str | None = None, **env: str) -> AbstractAsyncContextManager[Ohm]:
        """An `Ohm` whose subagents it runs; `fallback` is the model that is asked when the usual one fails."""
        config = {
            "subagentBackend": self.cli,
            "subagents": {
                "model": "usual" if fallback else MODELS[self.cli],
                "models": {"usual": {"model": MODELS[self.cli], "fallback": [fallback]}} if fallback else {},
                "sendToFinished": "resume",
                "requests": {"unattended": unattended},
                "backends": {self.cli: {"command": [str(self.here / "program")]}},
            },
        }
        work = self.here / "work"
        work.mkdir(exist_ok=True)
        given = {"PI_CONFIG_DIR": str(self.here), "OHM_SUBAGENTS_STORE": "memory", "PATH": "/usr/bin:/bin", **env}
        return Ohm.open(cwd=work, env=given, config=config, profiles=self.profiles, plugins=[ohm_backend_cli])


@pytest.fixture
def anyio_backend() -> str:
    """A process takes real time."""
    return "asyncio"


@pytest.fixture(params=MODELS)
def stage(request: pytest.FixtureRequest, tmp_path: Path) -> Stage:
    return Stage(request.param, tmp_path)


@pytest.mark.sample(3)
async def test_an_answer_comes_back_with_who_gave_it(stage: Stage) -> None:
    stage.plays("shell")
    async with stage.ohm() as ohm:
        match await ohm.run("reader", "--look @here"):
            case Ok(envelope):
                pass
            case Err(error):
                pytest.fail(str(error))

    assert envelope.output == "shell done."
    assert (envelope.backend, envelope.runtime, envelope.route) == (stage.cli, f"{stage.cli}-cli", stage.cli)
    assert f"{envelope.provider}/{envelope.model}" == MODELS[stage.cli]
    assert envelope.usage is not None
    assert envelope.usage.output_tokens == 40
    assert envelope.tool_rows is not None
    assert "echo hi-from-bash" in envelope.tool_rows[0]
    [call] = stage.calls()
    assert call["stdin"] == "--look @here"
    assert call["cwd"] == str(stage.here / "work")


@pytest.mark.sample(5)
async def test_it_sees_its_own_key_and_no_other(stage: Stage) -> None:
    stage.plays("shell")
    own = {"claude": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY", "opencode": "FAKE_API_KEY"}
    key = own.get(stage.cli, "OPENAI_API_KEY")
    async with stage.ohm(**{key: "one", "XAI_API_KEY": "two", "OF_THE_PROFILE": "three", "OTHER": "four"}) as ohm:
        assert isinstance(await ohm.run("reader", "Look."), Ok)

    env = stage.calls()[0]["env"]
    assert (env[key], env["OF_THE_PROFILE"], env["PI_SUBAGENT_CHILD"]) == ("one", "three", "1")
    assert {"XAI_API_KEY", "OTHER"} & set(env) == set()


@pytest.mark.sample(5)
async def test_a_follow_up_continues_the_session_of_the_cli(stage: Stage) -> None:
    stage.plays("shell", "resumed")
    async with stage.ohm() as ohm:
        first = await ohm.run("reader", "Look.")
        assert isinstance(first, Ok)
        sent = await ohm.call("task", {"op": "send", "id": first.ok_value.task_id, "prompt": "And then?"})

    assert (sent.details["status"], sent.details["output"]) == ("succeeded", "Hello from the fake model.")
    one, two = stage.calls()
    assert two["stdin"] == "And then?"
    added = [word for word in two["argv"] if word not in one["argv"]]
    session = next(line for line in map(json.loads, stream(stage, "shell")) if session_of(line))
    assert session_of(session) in added


def stream(stage: Stage, case: str) -> list[str]:
    return (STREAMS / f"{VERSIONS[stage.cli]}-{case}.jsonl").read_text().splitlines()


def session_of(record: dict[str, Any]) -> str | None:
    return record.get("session_id") or record.get("thread_id") or record.get("sessionID")


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("case", "code"),
    [
        ("http400", ErrorCode.PROVIDER_REQUEST_REJECTED),
        ("http401", ErrorCode.PROVIDER_AUTHENTICATION),
        ("empty", ErrorCode.PROVIDER_EMPTY_RESPONSE),
        ("lost-session", ErrorCode.BACKEND_FAILED),
    ],
)
async def test_a_failure_is_told_with_its_code(stage: Stage, case: str, code: ErrorCode) -> None:
    stage.plays(case)
    async with stage.ohm() as ohm:
        match await ohm.run("reader", "Look."):
            case Err(error):
                pass
            case Ok(envelope):
                pytest.fail(f"succeeded with {envelope.output!r}")

    assert error.code == code
    assert error.message.startswith(stage.cli)


@pytest.mark.sample(5)
async def test_a_cli_that_dies_half_way_has_not_answered(stage: Stage) -> None:
    whole = (STREAMS / f"{VERSIONS[stage.cli]}-shell.jsonl").stat().st_size
    stage.plays("shell", kept=whole // 2)
    async with stage.ohm() as ohm:
        match await ohm.run("reader", "Look."):
            case Err(error):
                pass
            case Ok(envelope):
                pytest.fail(f"succeeded with {envelope.output!r}")

    assert error.code == ErrorCode.BACKEND_FAILED
    assert error.message.startswith(f"{stage.cli} failed: it ended with exit code 0 before it had answered")
    assert error.exit_code == 0


async def test_a_command_that_is_not_there_is_one_sentence_with_how_to_install_it(tmp_path: Path) -> None:
    config = {"subagentBackend": "claude"}
    env = {"PI_CONFIG_DIR": str(tmp_path), "OHM_SUBAGENTS_STORE": "memory", "PATH": str(tmp_path)}
    async with Ohm.open(cwd=tmp_path, env=env, config=config, profiles=[READER], plugins=[ohm_backend_cli]) as ohm:
        outcome = await ohm.run("reader", "Look.")

    assert isinstance(outcome, Err)
    assert outcome.err_value.code == ErrorCode.COMMAND_UNUSABLE
    assert '"claude"' in outcome.err_value.message
    assert "npm install -g @anthropic-ai/claude-code" in outcome.err_value.advice


@pytest.mark.sample(5)
async def test_the_next_model_is_asked_when_the_first_one_fails(stage: Stage) -> None:
    stage.plays("http401", "shell")
    provider = MODELS[stage.cli].partition("/")[0]
    async with stage.ohm(fallback=f"{provider}/spare-2") as ohm:
        envelope = (await ohm.run("reader", "Go.")).unwrap()
    used = [(one.model, one.why) for one in envelope.models_used or ()]
    first, second = ("\n".join(call["argv"]) + call["env"].get("OPENAI_MODEL", "") for call in stage.calls())
    assert used == [
        (MODELS[stage.cli], "configured as usual"),
        (f"{provider}/spare-2", f"authentication of {MODELS[stage.cli]}"),
    ]
    assert "spare-2" in second
    assert "spare-2" not in first


@pytest.mark.parametrize("stage", ["gemini"], indirect=True)
async def test_a_cli_that_cannot_be_asked_about_calls_says_so_or_is_refused(stage: Stage) -> None:
    stage = replace(stage, profiles=None)  # those that ship
    stage = replace(stage, profiles=None)
    stage.plays("shell")
    async with stage.ohm() as ohm:
        envelope = (await ohm.run("task", "Look.")).unwrap()
    async with stage.ohm(unattended="deny") as ohm:
        error = (await ohm.run("task", "Look.")).unwrap_err()
    assert any(
        told.startswith("Calls of 'bash' are not asked about: the backend 'gemini'")
        for told in envelope.diagnostics or ()
    )
    assert error.code == ErrorCode.TOOLS_UNSUPPORTED
    assert len(stage.calls()) == 1
