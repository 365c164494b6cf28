"""On a pseudo-terminal, as a person sees it."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest
from screen import PATIENCE_S, on_terminal


def test_prompt_rows_and_answer_are_there_while_the_task_still_runs(ohm, ohm_process) -> None:
    with on_terminal(ohm_process, "run", "finder", "pause", "--backend", "stage") as (screen, process):
        ohm.reached.read_text()
        screen.wait_for("Finder · pause", "✓ read src/app.py · 12 lines", "╰── So far: app.py", "q stop · s send")
        assert "line two" not in screen.text
        ohm.released.write_text("go")
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 0
    final = screen.text.rpartition("✓ Finder · pause\n")[2]
    assert "    ├── ✓ read src/app.py · 12 lines\n    ╰── Succeeded after " in final
    assert final.endswith("\n\nline one\n  line two\n")
    # the live tree is wiped, and the cursor is back
    assert screen.raw.rindex("\x1b[?25h") > screen.raw.rindex("\x1b[?25l")


def test_without_a_keyboard_a_live_screen_says_at_the_start_that_nobody_is_asked(ohm_process) -> None:
    with (
        Path(os.devnull).open("rb") as nothing,
        on_terminal(
            ohm_process, "run", "finder", "answer", "--backend", "stage", columns=200, stdin=nothing.fileno()
        ) as (screen, process),
    ):
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 0
    first, *_ = screen.text.splitlines()
    assert first.startswith("Standard input is no terminal: no keys are read, and nobody is asked here.")
    assert "q stop" not in screen.text


def test_an_answer_cannot_drive_the_terminal(ohm_process) -> None:
    with on_terminal(ohm_process, "run", "finder", "escape", "--backend", "stage") as (screen, process):
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 0
    assert "\x1b]0;" not in screen.raw
    assert "\x07" not in screen.raw
    assert screen.text.endswith("\nred\n")


def test_ctrl_c_shows_what_was_done(ohm, ohm_process) -> None:
    with on_terminal(ohm_process, "run", "finder", "hang", "--backend", "stage") as (screen, process):
        child = int(ohm.reached.read_text())
        process.send_signal(signal.SIGINT)
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 130
    final = screen.text.rpartition("○ Finder · hang\n")[2]
    assert "✓ read src/app.py · 12 lines\n" in final
    assert final.endswith("So far: app.py\n\nInterrupted.\n")
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_an_answer_is_wrapped_between_words(ohm_process) -> None:
    with on_terminal(ohm_process, "run", "finder", "wide", "--backend", "stage", columns=60) as (screen, process):
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 0
    assert screen.text.endswith("\n\n" + " ".join(["beautiful"] * 6) + "\n" + " ".join(["beautiful"] * 6) + "\n")


ANSWER = """\
# 認証

- `src/auth.py` checks the **login** before anything else is read from the session of the user
- 認証の仕組みは二つの場所で行われますので、両方を変更する必要があります。誰が呼ぶのかは分かりません。
"""
DRAWN = {
    60: """\
                            認証

 • src/auth.py checks the login before anything else is read
   from the session of the user
 • 認証の仕組みは二つの場所で行われますので、両方を変更する
   必要があります。誰が呼ぶのかは分かりません。
""",
    80: """\
                                      認証

 • src/auth.py checks the login before anything else is read from the session of
   the user
 • 認証の仕組みは二つの場所で行われますので、両方を変更する必要があります。誰が
   呼ぶのかは分かりません。
""",
    120: """\
                                                          認証

 • src/auth.py checks the login before anything else is read from the session of the user
 • 認証の仕組みは二つの場所で行われますので、両方を変更する必要があります。誰が呼ぶのかは分かりません。
""",
}


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_an_answer_is_drawn_for_the_width_of_the_terminal(ohm_process, columns: int) -> None:
    asked = ("run", "finder", f"repeat {ANSWER}", "--backend", "stage")
    with on_terminal(ohm_process, *asked, columns=columns) as (screen, process):
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 0
    assert screen.text.rpartition("1 tool call\n\n")[2] == DRAWN[columns]


def test_a_failed_call_shows_the_whole_error(ohm, ohm_process) -> None:
    ohm.configure({"suites": ["task"], "subagentBackend": "stage"})
    start = {"op": "start", "subagent_type": "finder", "description": "Scan", "prompt": "long failure"}
    with on_terminal(ohm_process, "call", "task", json.dumps(start), columns=60) as (screen, process):
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 1
    assert "It broke " + "and broke " * 40 + "down. Repair it." in " ".join(screen.text.split())


def test_a_closed_terminal_ends_the_task_and_its_child(ohm, ohm_process) -> None:
    with on_terminal(ohm_process, "run", "finder", "hang", "--backend", "stage") as (_screen, process):
        child = int(ohm.reached.read_text())
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGHUP)
        assert process.wait(PATIENCE_S) == 129
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_a_terminal_that_tells_of_its_end_twice_lets_the_task_end_in_order(ohm, ohm_process) -> None:
    with ohm_process.start("run", "finder", "end slowly", "--backend", "stage") as process:
        assert ohm.reached.read_text() == "at work"
        process.send_signal(signal.SIGHUP)
        assert ohm.reached.read_text() == "ending"
        process.send_signal(signal.SIGHUP)
        ohm.released.write_text("go")
        _, stderr = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 129
    assert stderr.decode().splitlines()[-1] == "Interrupted."


def test_json_on_a_terminal_is_json(ohm_process) -> None:
    with on_terminal(ohm_process, "run", "finder", "answer", "--backend", "none", "--json") as (screen, process):
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 0
    assert json.loads(screen.raw)["status"] == "succeeded"


def test_a_tool_call_is_shown_live_as_its_tree(ohm, ohm_process) -> None:
    start = {"op": "start", "subagent_type": "finder", "description": "Scan", "prompt": "pause"}
    ohm.configure({"suites": ["task"], "subagentBackend": "stage"})
    with on_terminal(ohm_process, "call", "task", json.dumps(start)) as (screen, process):
        ohm.reached.read_text()
        screen.wait_for("Finder · Scan", "├── pause", "╰── So far: app.py")
        ohm.released.write_text("go")
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 0
    assert "    ├── ✓ read src/app.py · 12 lines\n    ╰── Succeeded after " in screen.text
    assert screen.text.endswith("\n\nline one\n  line two\n")


@pytest.mark.parametrize(
    "option",
    ["", *(pytest.param(one, marks=pytest.mark.slow) for one in ("--events", "--output", "--transcript", "--json"))],
)
def test_what_is_kept_of_a_task_cannot_drive_the_terminal_either(ohm, ohm_process, option: str) -> None:
    ohm("run", "finder", "escape", "--backend", "stage")
    with on_terminal(ohm_process, "task", "task_", *([option] if option else [])) as (screen, process):
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 0
    assert "red" in screen.text or not option
    assert "\x1b" not in re.sub(r"\x1b\[[0-9;]*m", "", screen.raw)
    assert "\x07" not in screen.raw


@pytest.mark.parametrize("no_colour", ["", "1"])
def test_a_transcript_has_colours_on_a_terminal_unless_nobody_wants_them(ohm, ohm_process, no_colour: str) -> None:
    ohm("run", "finder", "fail", "--backend", "stage")
    if no_colour:
        ohm.env["NO_COLOR"] = no_colour
    with on_terminal(ohm_process, "task", "task_", "--transcript") as (screen, process):
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 0
    assert screen.text == ohm("task", "task_", "--transcript").stdout
    assert ("\x1b[31m✕ failed\x1b[0m" in screen.raw, "\x1b" in screen.raw) == (not no_colour, not no_colour)


def test_a_list_on_a_terminal_is_two_fitting_lines_a_task_and_one_for_what_it_answered(ohm, ohm_process) -> None:
    ohm("run", "finder", "word " * 60)
    with on_terminal(ohm_process, "tasks", columns=60) as (screen, process):
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 0
    first, second, third = screen.text.splitlines()
    assert (len(first) <= 60, first[-1], second[:14]) == (True, "…", "  succeeded · ")
    assert (len(third) <= 60, third[:18]) == (True, "  subagent: finder")
    named, [kept] = first.split()[1], json.loads(ohm("tasks", "--json").stdout)
    assert (len(named), kept["task_id"].endswith(named)) == (8, True)
    assert json.loads(ohm("task", named, "--json").stdout) == kept
