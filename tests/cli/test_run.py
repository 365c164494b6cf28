from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys

import pytest

from ohm_subagents.contract import Envelope
from ohm_subagents.plugin import install_command


def test_in_a_pipe_only_the_answer_is_on_standard_output(ohm) -> None:
    done = ohm("run", "finder", "answer", "--backend", "stage")
    assert done.stdout == "line one\n  line two\n"
    assert done.stderr == "warning: Thinking is not honoured.\n"


def test_the_answer_is_whole_even_when_payloads_are_capped(ohm) -> None:
    ohm.configure({"suites": ["task"], "subagentBackend": "stage", "outputMaxChars": 3})
    assert ohm("run", "finder", "answer").stdout == "line one\n  line two\n"


def test_a_failure_shows_what_was_done_on_standard_error(ohm) -> None:
    done = ohm("run", "finder", "fail", "--backend", "stage")
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines[:2] == ["  ✕ Finder · fail", "    ├── ✓ read src/app.py · 12 lines"]
    assert "So far: app.py" in lines
    assert lines[-1] == "It broke. Repair it."


def test_a_refusal_is_one_sentence(ohm) -> None:
    done = ohm("run", "nobody", "x")
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1


def test_cwd_is_where_the_subagent_works(ohm, tmp_path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert f"cwd: {elsewhere}" in ohm("run", "finder", "x", "--cwd", "../elsewhere").stdout
    assert f"cwd: {tmp_path / 'project'}" in ohm("run", "finder", "x").stdout


def test_a_configuration_file_replaces_the_others(ohm, tmp_path) -> None:
    other = tmp_path / "other.json"
    other.write_text('{"subagentBackend": "stage", "suites": ["task"]} // a comment', encoding="utf-8")
    assert ohm("run", "finder", "answer", "--config", str(other)).stdout == "line one\n  line two\n"


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("answer", "--backend", "stage"), "succeeded"),
        (("fail", "--backend", "stage"), "failed"),
        (("x", "--model", "nonsense"), "failed"),
    ],
)
def test_json_is_exactly_one_envelope(ohm, arguments: tuple[str, ...], status: str) -> None:
    done = ohm("run", "finder", *arguments, "--json")
    envelope = json.loads(done.stdout)
    assert Envelope.model_validate(envelope).payload() == envelope
    assert (envelope["contract_version"], envelope["status"]) == ("task.v1", status)
    assert (done.returncode == 0) == (status == "succeeded")


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), pytest.param(signal.SIGHUP, 129, marks=pytest.mark.slow)],
)
def test_an_interrupt_cancels_the_task_shows_what_was_done_and_leaves_no_child(
    ohm, ohm_process, number: int, code: int
) -> None:
    with ohm_process.start("run", "finder", "hang", "--backend", "stage") as process:
        child = int(ohm.reached.read_text())
        process.send_signal(number)
        stdout, stderr = (stream.decode() for stream in process.communicate(timeout=60))
    assert (process.returncode, stdout) == (code, "")
    lines = stderr.splitlines()
    assert lines[0] == "  ○ Finder · hang"
    assert "    ├── ✓ read src/app.py · 12 lines" in lines
    assert "So far: app.py" in lines
    assert lines[-1] == "Interrupted."
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


@pytest.mark.slow
def test_a_program_that_is_to_outlive_its_terminal_does_not_hear_of_its_end(ohm, ohm_process) -> None:
    ohm.configure({"suites": ["task"], "subagentBackend": "stage"})
    command = shlex.join(ohm_process.command("run", "finder", "pause"))
    with subprocess.Popen(
        ["sh", "-c", f"trap '' HUP; exec {command}"], env=ohm.env, stdout=subprocess.PIPE, text=True
    ) as process:
        ohm.reached.read_text()
        process.send_signal(signal.SIGHUP)
        ohm.released.write_text("go")
        stdout, _ = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (0, "line one\n  line two\n")


def test_an_interrupted_json_run_is_a_cancelled_envelope(ohm, ohm_process) -> None:
    with ohm_process.start("run", "finder", "hang", "--backend", "stage", "--json") as process:
        ohm.reached.read_text()
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate(timeout=60)
    envelope = json.loads(stdout)
    assert (process.returncode, envelope["status"]) == (130, "cancelled")
    assert envelope["assistant_text"] == "So far: app.py"


def test_a_task_that_could_not_be_kept_is_told_when_the_run_is_over(ohm) -> None:
    """The run has its answer, and the registry does not."""
    import sqlite3
    from contextlib import closing

    ohm("run", "finder", "x", "--backend", "none")
    with closing(sqlite3.connect(ohm.root / "config" / "ohm.subagents.tasks.sqlite3", isolation_level=None)) as held:
        held.execute("CREATE TRIGGER full BEFORE INSERT ON tasks BEGIN SELECT RAISE(FAIL, 'the disk is full'); END")
    done = ohm("run", "finder", "x", "--backend", "none")
    assert done.returncode == 0
    assert "the disk is full" in done.stderr


def test_a_dash_is_the_prompt_on_standard_input(ohm) -> None:
    done = ohm("run", "finder", "-", stdin="Where is the café?\n".encode())
    assert done.returncode == 0, done.stderr
    assert "prompt: Where is the café?" in done.stdout
    kept = json.loads(ohm("run", "finder", "-", "--json", stdin=b"first\nlast\r\n").stdout)
    assert kept["prompt"] == "first\nlast", "a pipe ends with a line end, and a prompt does not"
    refused = ohm("run", "finder", "-", stdin=b"\xff\xfe")
    assert refused.returncode == 2
    assert refused.stderr.startswith("Cannot read standard input as UTF-8: ")


def test_a_subagent_whose_file_has_faults_is_refused_with_them(ohm) -> None:
    folder = ohm.root / "config" / "subagents"
    folder.mkdir()
    folder.joinpath("c.md").write_text("---\nsummary: C\nlimits: {capms: 5}\n---\nYou check.", encoding="utf-8")
    done = ohm("run", "c", "Where?")
    assert done.returncode == 2
    assert "No subagent profile found for 'c'. Its file cannot be used: " in done.stderr
    assert "c.md:3 has the unknown key 'limits.capms'. Did you mean 'capMs'? Available profiles: " in done.stderr


@pytest.mark.parametrize(
    "subagents",
    [{"model": "gpt-5"}, {"budget": {"costUsd": "x"}}, {"finder": {"tool": []}}, {"finder": {"tools": {"denny": []}}}],
)
def test_a_fault_of_the_configuration_that_stops_a_run_is_told_once(ohm, subagents) -> None:
    ohm.configure({"subagentBackend": "none", "subagents": subagents})
    done = ohm("run", "finder", "x")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("typed", "tools"),
    [
        (("--allow", "read", "--allow", "grep", "--deny", "grep"), "read"),
        (("--deny", "read", "--deny", "code_search"), "grep, find, ls"),
        (("--allow", ""), "none"),
    ],
)
def test_allow_and_deny_leave_the_task_fewer_tools(ohm, typed, tools) -> None:
    ran = ohm("run", "finder", "Where?", "--json", *typed)
    shown = ohm("task", json.loads(ran.stdout)["task_id"]).stdout
    (line,) = [line.strip() for line in shown.splitlines() if line.strip().startswith("tools ")]
    assert line == f"tools {tools}"


def test_a_budget_of_a_run_is_typed_in_the_words_of_ohm_json(ohm) -> None:
    typed = ("--budget", "toolCalls=9", "--budget", "toolCalls=0")
    told = json.loads(ohm("run", "finder", "stay", "--backend", "stage", "--json", *typed).stdout)
    assert (told["error_code"], told["stopped_by"]) == ("task_budget_exceeded", "tool_calls")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            "requsts=3",
            "'requsts=3' is no limit of a budget. Did you mean 'requests'? Allowed: <name>=<number>, of requests,",
        ),
        ("costUsd=-1", "'costUsd=-1' is no limit of a budget. Allowed: <name>=<number>, of requests, tokens, costUsd,"),
        ("requests=2.5", "'requests=2.5' is no limit of a budget. Allowed: "),
        ("requests", "'requests' is no limit of a budget. Allowed: "),
    ],
)
def test_what_is_no_limit_of_a_budget_is_told_with_what_is(ohm, typed, said) -> None:
    done = ohm("run", "finder", "x", "--budget", typed)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(said)


def test_the_verdict_of_typed_checks_is_a_line_beside_the_answer(ohm) -> None:
    (ohm.project / "here.md").write_text("x")
    checks = ("--accept", "file: out.md", "--accept", "file: here.md")
    done = ohm("run", "finder", "wide", "--backend", "stage", *checks)
    assert done.returncode == 0
    assert done.stdout.startswith("beautiful")
    assert done.stderr == "checks failed (1 of 2 checks): file: out.md: There is no such file.\n"
    passed = ohm("run", "finder", "wide", "--backend", "stage", "--accept", "file: here.md")
    assert passed.stderr == "checks passed (1 check)\n"
    wrong = ohm("run", "finder", "wide", "--accept", "exists: out.md")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert wrong.stderr.startswith("--accept cannot be kept: ")
    assert "'exists: out.md'" in wrong.stderr


def test_a_required_check_that_fails_fails_the_task_and_keeps_its_answer(ohm) -> None:
    ran = ("run", "finder", "wide", "--backend", "stage", "--accept", "file: out.md")
    done = ohm(*ran, "--require")
    assert (done.returncode, done.stdout) == (1, "")
    assert "`file: out.md`: There is no such file." in done.stderr
    assert json.loads(ohm(*ran, "--require", "--json").stdout)["error_code"] == "task_checks_failed"
    (ohm.project / "out.md").write_text("x")
    assert ohm(*ran, "--require").returncode == 0
    alone = ohm("run", "finder", "wide", "--require")
    assert (alone.returncode, alone.stderr.startswith("--require is about the checks of --accept")) == (2, True)


def test_a_run_while_subagents_are_off_tells_where_that_is_set(ohm) -> None:
    path = ohm.configure('{\n  "features": {\n    "subagents": false\n  }\n}')
    done = ohm("run", "finder", "x")
    assert done.stderr.endswith(f"primary subagent tools\nfeatures.subagents is false: {path}:3.\n"), done.stderr


def test_a_run_without_a_model_tells_what_a_key_that_is_there_lacks(ohm, monkeypatch) -> None:
    ohm.configure({"suites": ["task"]})
    advised = "For a model that reasons, set OHM_MODEL, or subagents.model in ohm.json, "
    assert advised in ohm("run", "finder", "Where is main?").stdout
    monkeypatch.setitem(sys.modules, "anthropic", None)
    ohm.env["ANTHROPIC_API_KEY"] = "sk-x"
    assert (
        "For a model that reasons, install the SDK of provider anthropic, whose key is in the environment: "
        f"{install_command('anthropic')}.\n"
    ) in ohm("run", "finder", "Where is main?").stdout


def test_a_task_goes_on_with_the_conversation_of_another(ohm) -> None:
    ohm("run", "finder", "remember", "--backend", "stage")
    (first,) = json.loads(ohm("tasks", "--json").stdout)
    done = ohm("run", "--resume", first["task_id"][:-1], "And now?", "--backend", "none")
    assert (done.returncode, "subagent: finder\n" in done.stdout, "prompt: And now?\n" in done.stdout) == (
        0,
        True,
        True,
    )
    second, _ = json.loads(ohm("tasks", "--json").stdout)
    assert second["session_id"] == first["session_id"]
    assert f"Continues {first['task_id']}." in ohm("task", second["task_id"], "--transcript").stdout


def test_what_cannot_be_resumed_is_told_in_a_sentence(ohm) -> None:
    unknown = ohm("run", "--resume", "task_9", "And now?")
    assert (unknown.returncode, "task_9" in unknown.stderr, "`ohm tasks` lists" in unknown.stderr) == (1, True, True)
    unquoted = ohm("run", "--resume", "task_9", "And", "now?")
    told = 'The prompt has to be one argument: put it in quotes, as in ohm run --resume task_9 "And now?".\n'
    assert (unquoted.returncode, unquoted.stderr) == (2, told)
    assert "Missing argument 'prompt'." in ohm("run", "finder").stderr


def test_a_subagent_is_left_out_where_a_task_goes_on(ohm) -> None:
    kept = json.loads(ohm("run", "finder", "x", "--json").stdout)
    going_on = ("--resume", kept["task_id"])
    said = f"a resumed task keeps its subagent. Type ohm run --resume {kept['task_id']}"
    with_one = ohm("run", "Finder", *going_on, "Go on.")
    assert (with_one.returncode, with_one.stderr) == (2, f"Leave out 'Finder': {said} \"Go on.\".\n")
    alone = ohm("run", "finder", *going_on)
    assert (alone.returncode, "and the prompt is missing" in alone.stderr) == (2, True)
    none = ohm("run", *going_on)
    assert (none.returncode, "Missing argument 'prompt'." in none.stderr) == (2, True)
    assert "Missing argument 'profile'." in ohm("run").stderr
    assert "[required]" not in ohm("run", "--help").stdout


def test_a_task_that_goes_on_elsewhere_is_told_where_it_worked(ohm) -> None:
    ohm("run", "finder", "remember", "--backend", "stage")
    done = ohm("run", "--resume", "task_", "And now?", "--backend", "none", "--cwd", str(ohm.root))
    assert done.returncode == 0
    assert f"worked in '{ohm.project}'. To go on there, add --cwd '{ohm.project}'." in done.stderr
