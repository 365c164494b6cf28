"""Nothing that a model, a file or a task says drives the terminal at the end of a pipe, whatever prints it."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from harmful_texts import DRIVING
from screen import PATIENCE_S, on_terminal

SAYS = "\x1b]52;c;eA==\x07\x1b]0;t\x1b\\\x9b2J\x9d0;t\x9c\x08\r\x7f\x85\u202ea\u2066b\u200f\u061c\u200b\ufeff\U000e0041"
"""Text that clears a screen, sets a clipboard, turns lines round and hides."""
SAFE = f"repeat {SAYS}\n\tsafe"
TASK = {"op": "start", "subagent_type": "finder", "description": SAYS, "prompt": SAFE}
UNKNOWN = {"op": "status", "ids": [SAYS]}
SAYING = [
    ("run", "finder", SAFE),
    ("run", "finder", f"{SAFE} fail"),
    ("run", f"finder{SAYS}", SAFE),
    ("run", "finder", SAFE, f"x{SAYS}"),
    ("call", "task", json.dumps(TASK)),
    ("call", "task", json.dumps(UNKNOWN)),
    ("call", f"task{SAYS}", "{}"),
    ("call", "task", SAYS),
    ("delegate", "tasks.json"),
    ("delegate", f"{SAYS}.json"),
    ("tasks",),
    ("tasks", "--status", SAYS),
    ("task", "task_"),
    ("task", "task_", "--output"),
    ("task", "task_", "--transcript"),
    ("task", SAYS),
    ("doctor",),
    ("subagents",),
    ("subagent", "driver"),
    ("subagent", SAYS),
    ("profiles",),
    ("profile", "driver"),
    ("profile", SAYS),
    ("policy", "explain", SAYS),
    ("config", "show", "--origin"),
    ("tools",),
    ("plugins",),
    ("subagent", "driver", "--cwd", SAYS),
    ("config", "show", "--origin", "--cwd", SAYS),
    ("policy", "explain", "driver", "--cwd", SAYS, "--tool", "bash", "--args", SAYS),
    ("trust", SAYS, "--dry-run"),
    ("trust", SAYS),
    ("trust", "--list"),
    ("run", "finder", SAFE, "--cwd", SAYS),
    ("run", "finder", SAFE, "--config", f"{SAYS}.json"),
    ("run", "finder", SAFE, "--model", SAYS),
    ("run", "--resume", SAYS, SAFE),
    ("tasks", "--cost"),
    ("tasks", "--session", SAYS),
    ("tasks", "--cost", "--by", "profile"),
    ("tasks", "--cost", "--by", "model", "--csv"),
    ("tasks", "--cost", "--by", SAYS),
    ("top", "--settled", "9"),
    ("top", "--sort", SAYS),
    ("send", SAYS, SAFE),
    ("cancel", SAYS),
    ("wait", SAYS),
    ("diff", SAYS),
    ("answer", SAYS, "yes"),
    ("models",),
    (f"tool{SAYS}",),
    ("run", f"--x{SAYS}"),
]
JSON = [
    ("run", "finder", SAFE, "--json"),
    ("run", "finder", f"{SAFE} fail", "--json"),
    ("call", "task", json.dumps(TASK), "--json"),
    ("call", f"task{SAYS}", "{}", "--json"),
    ("delegate", "tasks.json", "--json"),
    ("task", "task_", "--json"),
    ("tasks", "--json"),
    ("tasks", "--cost", "--by", "profile", "--json"),
    ("config", "show"),
]
LINES = [("task", "task_", "--events"), ("tasks", "export")]


@pytest.fixture
def place(ohm):
    """One kept task, profiles and agents with such texts, and tasks to delegate."""
    ohm.configure({"suites": ["task"], "subagentBackend": "stage", SAYS: 1})
    for folder, front in (
        ("subagents", "summary: {} \nwhenToUse: ['{}']"),
        ("agent-profiles", "provider: '{}'\nx{}: 1"),
    ):
        (ohm.project / ".pi" / folder).mkdir(parents=True)
        told = "\\x1b[2J\\u202e\\x07"
        text = f"---\nname: driver\n{front.replace(chr(39), chr(34)).format(told, told)}\n---\n{SAYS}\n"
        (ohm.project / ".pi" / folder / "driver.md").write_text(text)
    (ohm.project / SAYS / ".pi").mkdir(parents=True)
    shutil.copytree(ohm.project / ".pi" / "subagents", ohm.project / SAYS / ".pi" / "subagents")
    (ohm.project / "tasks.json").write_text(json.dumps({"tasks": [{"name": SAYS, "prompt": SAFE}]}))
    ohm("run", "finder", SAFE)
    return ohm


@pytest.mark.slow
def test_no_command_lets_anything_through_in_a_pipe(place) -> None:
    for arguments in (*SAYING, *JSON, *LINES):
        done = place(*arguments)
        assert done.stdout + done.stderr, arguments
        for stream in (done.stdout, done.stderr):
            found = DRIVING.search(stream)
            assert found is None, (arguments, ascii(stream[max(0, found.start() - 60) :][:120]))
    assert place("run", "finder", SAFE).stdout == "2J0;tab\n\tsafe\n", "tabs and lines are as they were"


def test_json_is_valid_and_has_all_of_it_all_the_same(place) -> None:
    for arguments in JSON:
        json.loads(place(*arguments).stdout)
    for arguments in LINES:
        assert all(json.loads(line) for line in place(*arguments).stdout.splitlines())
    assert json.loads(place("run", "finder", SAFE, "--json").stdout)["output"] == f"{SAYS}\n\tsafe"


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "finder", SAFE),
        *(
            pytest.param(one, marks=pytest.mark.slow)
            for one in (
                ("run", "finder", f"{SAFE} fail"),
                ("task", "task_", "--transcript"),
                ("task", "task_"),
                ("call", "task", json.dumps(TASK)),
                ("delegate", "tasks.json"),
            )
        ),
    ],
)
def test_a_terminal_gets_nothing_of_it_either(place, ohm_process, arguments) -> None:
    with on_terminal(ohm_process, *arguments) as (screen, process):
        screen.wait_for_end()
        assert process.wait(PATIENCE_S) == (1 if f"{SAFE} fail" in arguments else 0)
    assert "safe" in screen.text
    assert re.search("[\x80-\x9f\u202a-\u202e\u2066-\u2069\u200f\u061c\x08\x07]|\x1b]", screen.raw) is None


def test_arguments_that_are_nested_beyond_reason_are_one_sentence(ohm) -> None:
    for written in ("[" * 50_000, '{"a":' * 50_000, "nope"):
        done = ohm("call", "task", written)
        assert done.returncode == 2
        assert re.fullmatch(r"The arguments are not JSON: .*\.\n", done.stderr), done.stderr
