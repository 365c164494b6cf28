from __future__ import annotations

import json
import re
import signal

import pytest
from screen import PATIENCE_S, on_terminal

START = {"op": "start", "subagent_type": "finder", "description": "Scan", "prompt": "answer"}


def test_in_a_pipe_it_prints_what_the_model_reads(ohm) -> None:
    ohm.configure({"suites": ["task"], "subagentBackend": "stage"})
    done = ohm("call", "task", json.dumps(START))
    assert done.stdout.startswith("  ✓ Finder · Scan\n    ├── answer\n")
    assert done.stdout.endswith("):\nline one\n  line two\n")


def test_json_is_the_details(ohm) -> None:
    ohm.configure({"suites": ["task"], "subagentBackend": "stage"})
    details = json.loads(ohm("call", "task", json.dumps(START), "--json").stdout)
    assert (details["contract_version"], details["output"]) == ("task.v1", "line one\n  line two")


def test_an_unknown_tool_is_named_with_those_there_are(ohm) -> None:
    done = ohm("call", "hammer", "{}")
    assert "'hammer'" in done.stdout
    assert "task" in done.stdout


def test_an_interrupt_ends_the_call(ohm, ohm_process) -> None:
    ohm.configure({"suites": ["task"], "subagentBackend": "stage"})
    with ohm_process.start("call", "task", json.dumps(START | {"prompt": "hang"})) as process:
        ohm.reached.read_text()
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (130, b"")
    lines = stderr.decode().splitlines()
    assert lines[0] == "  ○ Finder · Scan"
    assert "    ├── ✓ read 12 lines" in lines
    assert lines[-1] == "Interrupted."


@pytest.mark.slow
def test_an_interrupted_json_call_is_a_cancelled_envelope(ohm, ohm_process) -> None:
    ohm.configure({"suites": ["task"], "subagentBackend": "stage"})
    with ohm_process.start("call", "task", json.dumps(START | {"prompt": "hang"}), "--json") as process:
        ohm.reached.read_text()
        process.send_signal(signal.SIGINT)
        stdout, _ = process.communicate(timeout=60)
    details = json.loads(stdout)
    assert (process.returncode, details["contract_version"], details["status"]) == (130, "task.v1", "cancelled")


def test_a_batch_that_is_stopped_at_a_terminal_ends_as_it_was_drawn(ohm, ohm_process) -> None:
    ohm.configure({"suites": ["task"], "subagentBackend": "stage"})
    tasks = [{"subagent_type": "finder", "description": title, "prompt": "stay"} for title in ("Scan", "Look")]
    batch = {"op": "start", "parallel": True, "tasks": tasks}
    with on_terminal(ohm_process, "call", "task", json.dumps(batch)) as (screen, process):
        screen.wait_for("Scan", "Look", "q stop")
        screen.type("q")
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 130
    left = screen.text.rpartition("q stop")[2]
    assert ("Finder · Scan" in left, "Finder · Look" in left, "Cancelled after" in left) == (True, True, True)
    assert ("batch:" in screen.text, "output (" in screen.text) == (False, False)


OVERVIEW = """\
  ✓ Scan · 0s · 1 tool · line one · line two
  ✓ Look · 0s · 1 tool
    ╰── The lock is released in a callback that may never be
        called. The lock is released in a callback that may
        never be called. The lock is released in a callback…
  ✕ Push · 0s · 1 tool · It is full for now.
  ✕ Pull · 0s · 1 tool · It is full for now.
  ✕ Mend · 0s · 1 tool · It broke.
3 failed · 2 succeeded · 0s · 5 tool calls
What failed may succeed when it is tried again, as id_3
(Push) by:
  ohm run --resume id_3 "Try again."
The same goes for id_4 (Pull).
"""


def test_a_batch_without_room_for_its_trees_ends_with_what_each_answered_and_how_to_try_again(ohm, ohm_process) -> None:
    ohm.configure({"suites": ["task"], "subagentBackend": "stage"})
    long = "repeat " + "The lock is released in a callback that may never be called. " * 6
    prompts = {"Scan": "answer", "Look": long, "Push": "fail for now", "Pull": "fail for now", "Mend": "fail"}
    tasks = [{"subagent_type": "finder", "description": title, "prompt": prompts[title]} for title in prompts]
    batch = {"op": "start", "parallel": True, "tasks": tasks}
    with on_terminal(ohm_process, "call", "task", json.dumps(batch), columns=60, rows=20) as (screen, process):
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == 1
    answers, _, end = screen.text.rpartition("\n\n")
    assert "never be called. The lock is released" in " ".join(answers.split())
    assert "line two" not in answers.rpartition("q stop")[2]
    shown = re.sub(r"\b\d+(\.\d+)?s\b", "0s", end)
    assert re.sub(r"\w{3}_000", "id_", shown) == OVERVIEW
    place = json.loads(ohm("tasks", "--json").stdout)
    assert sum(one["task_id"][-8:] in end for one in place) == 2


FAILING = {
    "delegate_to_subagents": {"tasks": [{"name": "a", "prompt": "answer"}, {"name": "b", "prompt": "fail"}]},
    "subagent": {"agent": "nobody", "task": "answer"},
    "subagent_sticky": {"agent": "nobody", "task": "answer"},
}


@pytest.mark.parametrize("tool", FAILING)
def test_a_subagent_of_any_suite_that_failed_is_an_exit_code(ohm, tool) -> None:
    ohm.configure({"suites": ["delegate", "single", "sticky"], "subagentBackend": "stage"})
    done = ohm("call", tool, json.dumps(FAILING[tool]))
    assert (done.returncode, done.stderr) == (1, "")


def test_a_delegation_in_which_none_failed_is_a_success(ohm) -> None:
    ohm.configure({"suites": ["delegate"], "subagentBackend": "stage"})
    done = ohm("call", "delegate_to_subagents", json.dumps({"tasks": [{"name": "a", "prompt": "answer"}]}))
    assert done.returncode == 0


def test_a_dash_is_the_arguments_on_standard_input(ohm) -> None:
    arguments = {"op": "start", "subagent_type": "finder", "description": "Find", "prompt": "Where?"}
    done = ohm("call", "task", "-", stdin=json.dumps(arguments).encode())
    assert done.returncode == 0, done.stderr
    assert "prompt: Where?" in done.stdout


def test_the_environment_names_the_server_where_nothing_is_typed(ohm) -> None:
    ohm.env["OHM_SERVER"] = "/nowhere.sock"
    for typed, place in (((), "/nowhere.sock"), (("--server", "/typed.sock"), "/typed.sock")):
        done = ohm("call", "task", json.dumps(START), *typed)
        assert f"No server listens at '{place}'." in done.stdout + done.stderr
        assert done.returncode == 1
