"""A command-line agent of one's own, through the public door."""

import sys

import pytest

from ohm_subagents import Ohm
from ohm_subagents.contract import Err, ErrorCode, OhmError, Ok, Profile
from ohm_subagents.plugin import Capability, Checkpointed, RunOutput, TextDelta, hookimpl
from ohm_subagents.shell import Dialect, Ended, full_prompt, records, shell_backend
from ohm_subagents.shell.command import locate_command
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio

AGENT = """
import json, os, sys
prompt = sys.stdin.read()
print("not a record")
print(json.dumps({"said": "You said: "}), flush=True)
print(json.dumps({"said": prompt}), flush=True)
print(json.dumps({"args": sys.argv[1:], "env": sorted(os.environ), "id": "s1"}), flush=True)
print("warn: careful", file=sys.stderr)
sys.exit(3 if "fail" in prompt else 0)
"""
PROFILE = Profile(id="worker", name="Worker", summary="Works.", prompt="Work.", env=("SHOWN",))


class EchoReader:
    """Reads the agent above."""

    def __init__(self):
        self.text = ""
        self.seen = {}

    def read(self, line):
        record = records(line) or {}
        if "said" in record:
            self.text += record["said"]
            yield TextDelta(text=record["said"])
        if "id" in record:
            self.seen = record
            yield Checkpointed(state=record["id"])

    is_over = False

    def last(self, ended):
        return ()

    def outcome(self, ended):
        if ended.code != 0:
            return Err(OhmError(code=ErrorCode.BACKEND_FAILED, message=f"It ended with {ended.code}: {ended.stderr}"))
        return Ok(RunOutput(text=f"{self.text}|{' '.join(self.seen['args'])}|{' '.join(self.seen['env'])}"))


class Plugin:
    """Offers the agent as backend `echo-cli`."""

    def __init__(self, script):
        self._dialect = Dialect(
            id="echo-cli",
            summary="Echoes.",
            command=(sys.executable, str(script)),
            install="see the test",
            arguments=lambda invocation: ("--resume", invocation.request.checkpoint or "none"),
            prompt=lambda invocation: full_prompt(invocation.request),
            reader=lambda _invocation: EchoReader(),
            capabilities=frozenset({Capability.SESSIONS}),
            keys=lambda _request: ("MY_KEY",),
            settings=lambda invocation: {"FOLDER": str(invocation.folder)},
        )

    @hookimpl
    def ohm_backends(self):
        return (shell_backend(self._dialect),)


@pytest.fixture
def opened(tmp_path):
    script = tmp_path / "agent.py"
    script.write_text(AGENT)

    def open_(**options):
        return Ohm.open(
            cwd=tmp_path,
            config={
                "subagentBackend": "echo-cli",
                "subagents": {"backends": {"echo-cli": options}, "sendToFinished": "resume"},
            },
            env={**HERMETIC, "PATH": "/usr/bin:/bin", "MY_KEY": "k", "OTHER_KEY": "o", "SHOWN": "s"},
            plugins=[Plugin(script)],
            profiles=[PROFILE],
        )

    return open_


async def test_the_agent_gets_its_prompt_its_arguments_and_an_environment_without_other_keys(opened):
    async with opened(args=["--last"], env={"EXTRA": "1"}) as ohm:
        answer = (await ohm.run("worker", "hello")).unwrap()
    text, arguments, environment = answer.output.split("|")
    assert (text, arguments) == ("You said: hello", "--resume none --last")
    names = set(environment.split())
    assert {"PATH", "MY_KEY", "SHOWN", "EXTRA", "FOLDER", "PI_SUBAGENT_CHILD", "PI_SUBAGENT_DEPTH"} <= names
    assert "OTHER_KEY" not in names


async def test_a_later_run_resumes_what_the_agent_called_its_session(opened):
    async with opened() as ohm:
        first = (await ohm.run("worker", "hello")).unwrap()
        sent = await ohm.call("task", {"op": "send", "id": first.task_id, "prompt": "more"})
    assert "--resume s1" in sent.details["output"]


async def test_what_its_reader_calls_a_failure_is_one(opened):
    async with opened() as ohm:
        failed = await ohm.run("worker", "fail")
    assert isinstance(failed, Err)
    assert failed.err_value.message == "It ended with 3: warn: careful\n"
    assert failed.err_value.exit_code == 3


@pytest.mark.parametrize(
    ("command", "where"),
    [
        ("no-such-agent", "it is in none of the 2 directories of the PATH"),
        ("/no/such/agent", "there is no such program"),
        ("./agent-of-mine", "there is no such program"),
    ],
)
async def test_a_command_that_is_not_there_is_told_with_how_to_install_it(opened, command, where):
    async with opened(command=[command]) as ohm:
        failed = await ohm.run("worker", "hello")
    assert isinstance(failed, Err)
    assert failed.err_value.code == ErrorCode.COMMAND_UNUSABLE
    assert failed.err_value.exit_code is None
    assert str(failed.err_value) == (
        f'The command "{command}" of backend "echo-cli" cannot be started: {where}. '
        'Install it (see the test), or name another in subagents.backends."echo-cli".command of ohm.json.'
    )


async def test_a_file_that_may_not_be_executed_is_told_from_one_that_is_not_there(opened, tmp_path):
    (tmp_path / "agent.py").chmod(0o644)
    async with opened(command=[str(tmp_path / "agent.py")]) as ohm:
        failed = await ohm.run("worker", "hello")
    assert isinstance(failed, Err)
    assert 'agent.py" of backend "echo-cli" cannot be started: it is not executable.' in failed.err_value.message


async def test_a_program_of_the_path_that_may_not_be_executed_is_named(tmp_path):
    (tmp_path / "agent").write_text("")
    found = locate_command(("agent",), {"PATH": f"/no/such:{tmp_path}"}, backend="echo-cli", install="-")
    assert f"cannot be started: {tmp_path}/agent is not executable." in found.err_value.message


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        ({"command": []}, "'subagents.backends.echo-cli.command' must have at least one entry."),
        ({"command": [""]}, "'subagents.backends.echo-cli.command.0' must be a non-empty string."),
        ({"command": "agent"}, "'subagents.backends.echo-cli.command' must be a list."),
        ({"args": [3]}, "'subagents.backends.echo-cli.args.0' must be a string."),
        ({"env": ["A"]}, "'subagents.backends.echo-cli.env' must be an object."),
        ({"graceMs": "soon"}, "'subagents.backends.echo-cli.graceMs' must be a whole number."),
        ({"graceMs": 1.5}, "'subagents.backends.echo-cli.graceMs' must be a whole number."),
        ({"graceMs": -1}, "'subagents.backends.echo-cli.graceMs' must be at least 0."),
    ],
)
async def test_a_wrong_option_is_refused_in_plain_words(opened, options, fact):
    async with opened(**options) as ohm:
        failed = await ohm.run("worker", "hello")
    assert isinstance(failed, Err)
    assert failed.err_value.code == ErrorCode.BACKEND_OPTIONS_INVALID
    assert failed.err_value.message == fact


@pytest.mark.parametrize(
    ("stderr", "words"),
    [
        ("", ""),
        ("WARN slow\n\x1b[31mError: no disk\x1b[0m\n    at main (a.js:1)\nbye\n", "Error: no disk"),
        ("hello\nno such session\nError: later\n", "no such session"),
        ("hello\nbye\n\n", "bye"),
    ],
)
def test_the_last_words_of_a_process_are_the_line_that_says_what_is_wrong(stderr: str, words: str) -> None:
    assert Ended(code=1, stderr=stderr).last_words(lambda line: "session" in line) == words


def test_an_end_is_told_by_its_code_its_signal_or_who_wanted_it() -> None:
    ends = [Ended(code=3), Ended(code=-9), Ended(code=-15, was_stopped=True)]
    assert [end.how for end in ends] == ["ended with exit code 3", "was ended by signal 9", "was stopped"]
