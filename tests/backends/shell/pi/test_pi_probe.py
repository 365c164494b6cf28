"""The release of the `pi` that is installed."""

import os
from pathlib import Path

import anyio
import pytest

from ohm_subagents.backends.pi.options import INSTALL
from ohm_subagents.backends.pi.probe import PiProbe
from ohm_subagents.contract import Err, ErrorCode, OhmError, Ok

pytestmark = pytest.mark.anyio

HELP = "Options:\n  --mode <mode>   Output mode\n  --no-approve, -na  Ignore\n  --no-mcp\n  see well--known\n"


class Machine:
    """Runs nothing: answers for the programs that are there."""

    def __init__(self, folder: Path, *, version: str = "1.5.2\n", code: int = 0, on_stderr: bool = False) -> None:
        self.folder = folder
        self.version, self.code, self.on_stderr = version, code, on_stderr
        self.asked: list[tuple[str, ...]] = []
        self.together = 0
        self.put("pi")

    def put(self, name: str) -> Path:
        file = self.folder / name
        file.write_text("#!/bin/sh\n")
        file.chmod(0o755)
        return file

    @property
    def env(self) -> dict[str, str]:
        return {"PATH": str(self.folder), "ACME_KEY": "hunter2hunter2"}

    async def run(self, command, env, cwd):
        assert env == self.env
        before = len(self.asked)
        self.asked.append(command)
        await anyio.lowlevel.checkpoint()
        self.together = max(self.together, len(self.asked) - before)
        if command[-1] == "--help":
            return Ok((0, HELP, ""))
        return Ok((self.code, "", self.version) if self.on_stderr else (self.code, self.version, ""))

    async def answer(self, *command: str, probe: PiProbe | None = None):
        return await (probe or PiProbe(self.run)).version(command, self.env, self.folder)


async def test_a_release_is_known_by_its_number_and_its_flags(tmp_path):
    pi = (await Machine(tmp_path).answer("pi")).ok_value

    assert (pi.version, pi.text) == ((1, 5, 2), "1.5.2")
    assert pi.flags == {"--mode", "--no-approve", "--no-mcp"}
    assert pi.settles
    assert pi.has_dollar_references


async def test_an_old_release_says_its_version_on_standard_error(tmp_path):
    pi = (await Machine(tmp_path, version="0.74.2\n", on_stderr=True).answer("pi")).ok_value

    assert pi.version == (0, 74, 2)
    assert not pi.settles
    assert not pi.has_dollar_references


async def test_both_questions_are_asked_at_once_and_only_once_however_many_ask(tmp_path):
    machine = Machine(tmp_path)
    probe = PiProbe(machine.run)
    async with anyio.create_task_group() as askers:
        for _ in range(5):
            askers.start_soon(lambda: machine.answer("pi", probe=probe))

    assert sorted(machine.asked) == [("pi", "--help"), ("pi", "--version")]
    assert machine.together == 2


async def test_a_command_that_was_replaced_is_asked_again(tmp_path):
    machine = Machine(tmp_path)
    script = machine.put("cli.js")
    probe = PiProbe(machine.run)
    await machine.answer("pi", str(script), probe=probe)
    machine.version = "1.6.0\n"
    assert (await machine.answer("pi", str(script), probe=probe)).ok_value.text == "1.5.2"

    os.utime(script, ns=(1, 1))

    assert (await machine.answer("pi", str(script), probe=probe)).ok_value.text == "1.6.0"


class TestTime:
    @pytest.fixture
    def anyio_backend(self, virtual_time):
        return virtual_time

    async def test_a_command_that_does_not_answer_is_not_waited_for(self, tmp_path):
        async def hang(_command, _env, _cwd):
            await anyio.sleep_forever()

        error = (await Machine(tmp_path).answer("pi", probe=PiProbe(hang))).err_value

        assert error.code == ErrorCode.COMMAND_UNUSABLE
        assert error.message == 'The command "pi" has not told its version and its flags in 20 seconds.'


async def test_a_failure_is_not_remembered(tmp_path):
    machine = Machine(tmp_path, code=1)
    probe = PiProbe(machine.run)
    assert isinstance(await machine.answer("pi", probe=probe), Err)
    machine.code = 0

    assert isinstance(await machine.answer("pi", probe=probe), Ok)


async def test_a_release_that_is_too_old_is_refused(tmp_path):
    error = (await Machine(tmp_path, version="0.72.9").answer("pi")).err_value

    assert error.code == ErrorCode.COMMAND_UNUSABLE
    assert error.message == 'The command "pi" is pi 0.72.9, and 0.73.0 is the oldest that works here.'
    assert INSTALL in error.advice


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            "file:///pi/cli.js:3\nimport { enableCompileCache } from 'node:module';\n\n"
            "SyntaxError: The requested module 'node:module' does not provide an export named 'enableCompileCache'\n"
            "    at ModuleJob._instantiate\n\nNode.js v20.20.0\n",
            "SyntaxError: The requested module 'node:module' does not provide an export named 'enableCompileCache'.",
        ),
        ("env: node: No such file or directory\n", "env: node: No such file or directory."),
        ("", "it ended with exit code 1."),
        ("bad key hunter2hunter2\n", "bad key ***."),
    ],
)
async def test_a_command_that_fails_says_what_it_said(tmp_path, said, words):
    error = (await Machine(tmp_path, version=said, code=1, on_stderr=True).answer("pi")).err_value

    assert error.code == ErrorCode.COMMAND_UNUSABLE
    assert error.message == f'The command "pi" does not start as pi: {words}'


async def test_another_program_of_this_name_is_refused(tmp_path):
    error = (await Machine(tmp_path, version="Raspberry Pi tool, version 3\n").answer("pi")).err_value

    assert error.message == 'The command "pi" does not start as pi: Raspberry Pi tool, version 3.'


async def test_what_cannot_be_started_is_told_as_it_is(tmp_path):
    refused = OhmError(code=ErrorCode.COMMAND_UNUSABLE, message="No more processes.")

    async def run(command, env, cwd):
        return Err(refused)

    machine = Machine(tmp_path)

    assert (await machine.answer("pi", probe=PiProbe(run))).err_value is refused
