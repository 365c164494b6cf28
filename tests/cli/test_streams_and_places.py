"""A shell may close or fill the output of a command, remove its directory, pass it bytes."""

from __future__ import annotations

import json
import os
import shlex
import subprocess

import pytest

from ohm_subagents.commands import report
from ohm_subagents.contract import Diagnostic

CLOSED = (">&-", "Standard output is closed: there is no place for an answer.\n")
FULL = ("> /dev/full", "Cannot write to standard output: No space left on device.\n")
PLAIN = [("tasks",), ("subagents",), ("config", "show"), ("doctor",), ("--version",)]
NOWHERE = [
    (("run", "finder", "x"), *CLOSED),
    (("run", "finder", "x"), *FULL),
    (("--help",), *FULL),
    *(
        pytest.param(*each, marks=pytest.mark.slow)
        for each in ((("--help",), *CLOSED), *((one, *where) for one in PLAIN for where in (CLOSED, FULL)))
    ),
]


def in_shell(ohm_process, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", script],
        cwd=ohm_process.place.project,
        env=ohm_process.place.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(("command", "redirection", "sentence"), NOWHERE)
def test_output_that_goes_nowhere_is_one_sentence(ohm_process, command, redirection: str, sentence: str) -> None:
    done = in_shell(ohm_process, f"{shlex.join(ohm_process.command(*command))} {redirection}")
    assert (done.returncode, done.stderr) == (1, sentence)


def test_a_reader_that_has_seen_enough_is_no_failure_worth_a_word(ohm_process) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with ohm_process.start("config", "schema", stdout=writer, stderr=subprocess.PIPE) as process:
        os.close(writer)
        _, stderr = process.communicate(timeout=60)
    assert (process.returncode, stderr) == (141, b"")


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("tasks", "export"),
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in (("run", "nobody", "Grüße 世界", "--json"), ("tasks", "--json"))
        ),
    ],
)
def test_json_is_json_where_the_terminal_has_other_letters_too(ohm, ohm_process, command) -> None:
    ohm("run", "finder", "Grüße 世界")
    ohm.env["PYTHONIOENCODING"] = "ascii"
    done = ohm_process(*command)
    told = json.loads(done.stdout)
    told = told[0] if isinstance(told, list) else told
    assert told.get("prompt", "Grüße 世界") == "Grüße 世界"


def test_what_is_wrong_is_told_once(capsys) -> None:
    one, other = (Diagnostic(subject="a", message=message) for message in ("It is old.", "It is new."))
    report([one, other, one])
    assert capsys.readouterr().err.splitlines() == [f"warning: {one}", f"warning: {other}"]


@pytest.mark.slow
def test_a_closed_standard_error_costs_no_answer(ohm_process) -> None:
    done = in_shell(
        ohm_process, f"{shlex.join(ohm_process.command('run', 'finder', 'answer', '--backend', 'stage'))} 2>&-"
    )
    assert (done.returncode, done.stdout) == (0, "line one\n  line two\n")


@pytest.mark.parametrize(
    "command",
    [
        ("run", "finder", "x"),
        *(pytest.param(one, marks=pytest.mark.slow) for one in (("call", "task", "{}"), ("subagents",), ("doctor",))),
    ],
)
def test_a_directory_that_was_removed_is_one_sentence(ohm_process, command) -> None:
    done = in_shell(ohm_process, f"mkdir gone; cd gone; rmdir ../gone; {shlex.join(ohm_process.command(*command))}")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "The working directory '.' is not a readable directory. "
        "Give an existing directory that this process may read.\n"
    )


@pytest.mark.parametrize("kind", ["absent", "file"])
def test_a_place_that_is_no_readable_directory_is_refused(ohm, kind: str) -> None:
    (ohm.root / "project" / "file").touch()
    done = ohm("run", "finder", "x", "--cwd", kind)
    assert done.returncode == 2
    assert done.stderr.startswith(f"The working directory '{kind}' is not a readable directory. ")
    for command in (("run", "finder", "x"), ("call", "task", "{}")):
        told = json.loads(ohm(*command, "--cwd", kind, "--json").stdout)
        assert (told["status"], told["error_code"]) == ("failed", "cwd_unreadable")


@pytest.mark.slow
@pytest.mark.parametrize("flags", [pytest.param("", marks=pytest.mark.slow), "--json"])
def test_bytes_that_are_no_text_are_refused(ohm_process, flags: str) -> None:
    done = in_shell(ohm_process, f"{shlex.join(ohm_process.command('run', 'finder'))} \"$(printf 'a\\377')\" {flags}")
    assert done.returncode == 2
    assert "holds bytes that are not Unicode text" in done.stdout + done.stderr


def test_a_prompt_without_quotes_is_told_to_have_some(ohm) -> None:
    done = ohm("run", "finder", "Where", "is", "it")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == ('The prompt has to be one argument: put it in quotes, as in ohm run finder "Where is it".\n')


def test_an_unknown_subagent_is_called_so_first(ohm) -> None:
    done = ohm("subagent", "findr")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "No subagent is called 'findr'. Did you mean 'finder'?"
