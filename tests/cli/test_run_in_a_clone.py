"""`ohm run --isolation clone`: the task works on a clone of the files, and its work stays apart or lands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol, get_args

import pytest
from screen import on_terminal

from ohm_subagents.contract.sandbox import SANDBOX_MODES
from ohm_subagents.contract.workspace import Isolation, Land

if TYPE_CHECKING:
    from collections.abc import Callable

    class Done(Protocol):
        """A command that has ended."""

        returncode: int
        stdout: str
        stderr: str


def test_the_options_of_a_clone_are_those_of_the_task(ohm: Callable[..., Done]) -> None:
    done = ohm("run", "finder", "x", "--backend", "none", "--isolation", "clone")
    assert (done.returncode, done.stderr) == (0, "")
    (task,) = json.loads(ohm("tasks", "--json").stdout)
    assert ", in a clone of it" in ohm("task", task["task_id"]).stdout
    done = ohm("run", "finder", "x", "--backend", "none", "--land", "ask")
    assert "land 'ask' has no effect: the task has worked on the files themselves" in done.stderr


@pytest.mark.parametrize("words", [get_args(Isolation), get_args(Land), SANDBOX_MODES])
def test_the_help_names_every_word_of_an_option(ohm: Callable[..., Done], words: tuple[str, ...]) -> None:
    assert "|".join(words) in ohm("run", "--help").stdout


def test_what_has_changed_is_told_with_what_can_be_done_with_it(ohm: Any) -> None:
    done = ohm("run", "finder", "x", "--backend", "none", "--isolation", "clone", "--accept", "run: touch new")
    (task,) = json.loads(ohm("tasks", "--json").stdout)
    name = task["task_id"]
    told = f"1 file, +0 -0, kept apart: `ohm diff {name}` shows them, `ohm land {name}` makes them in your files."
    assert told in done.stderr
    assert ohm("land", name).stdout == f"The work of task '{name}' has landed, uncommitted: 1 file, +0 -0.\n"
    done = ohm("run", "finder", "x", "--backend", "none", "--accept", "file: none", "--accept", "run: true")
    assert "checks failed (1 of 2 checks)" in done.stderr
    both = f"run: echo mine > both; echo yours > {ohm.project}/both"
    done = ohm("run", "finder", "x", "--backend", "none", "--isolation", "clone", "--land", "clean", "--accept", both)
    _, _, told = done.stderr.partition("\n1 file, +1 -0, ")
    assert told.startswith("of which nothing has landed, as they do not fit into your files:\n  both line 1: ")


def test_a_clone_in_which_nothing_has_changed_is_told_by_all_three_commands(ohm: Any) -> None:
    told = json.loads(ohm("run", "finder", "x", "--backend", "none", "--isolation", "clone", "--json").stdout)
    done = [ohm(command, told["task_id"]) for command in ("diff", "land", "discard")]
    assert [one.returncode for one in done] == [0, 1, 1]
    assert {one.stderr for one in done} == {f"Task '{told['task_id']}' has changed nothing in its clone.\n"}


def test_a_task_of_a_process_inside_of_a_clone_names_the_task_whose_clone_it_is(ohm: Any) -> None:
    ohm.env |= {"OHM_SUBAGENT_CLONE": f"{ohm.project}", "OHM_SUBAGENT_TASK": "task_outer"}
    name = json.loads(ohm("run", "finder", "x", "--backend", "none", "--json").stdout)["task_id"]
    assert f"{ohm.project}, in the clone of task_outer" in ohm("task", name).stdout
    done = [ohm(command, name) for command in ("diff", "land", "discard")]
    assert [one.returncode for one in done] == [0, 1, 1]
    told = f"Task '{name}' worked in the clone of task 'task_outer', whose work has what it changed.\n"
    assert {one.stderr for one in done} == {told}


def test_of_a_task_that_works_in_its_clone_nobody_knows_the_changes_yet(ohm: Any, ohm_process: Any) -> None:
    with ohm_process.start("run", "finder", "pause", "--backend", "stage", "--isolation", "clone") as process:
        ohm.reached.read_text()
        (task,) = json.loads(ohm("tasks", "--json").stdout)
        done = [ohm(command, task["task_id"]) for command in ("diff", "land", "discard")]
        process.kill()
        process.wait(60)
    told = f"Task '{task['task_id']}' is running: it may change more files. Wait for it, or cancel it.\n"
    assert {(one.returncode, one.stdout, one.stderr) for one in done} == {(1, "", told)}


def test_the_sandbox_of_a_run_is_the_one_that_is_typed(ohm: Callable[..., Done]) -> None:
    ohm("run", "finder", "x", "--backend", "none", "--sandbox", "preferred")
    (task,) = json.loads(ohm("tasks", "--json").stdout)
    assert "preferred" in ohm("task", task["task_id"]).stdout


@pytest.mark.slow
def test_a_person_at_the_terminal_reads_how_much_would_land_and_agrees_or_not(
    ohm: Callable[..., Done], ohm_process: Callable[..., object]
) -> None:
    clone = ("--isolation", "clone", "--land", "ask", "--accept", "run: touch new")
    for typed, landed in (("n\n", False), ("y\n", True)):
        with on_terminal(ohm_process, "run", "finder", "x", "--backend", "none", *clone) as (screen, _):
            screen.wait_for("has changed 1 file, +0 -0 in its clone. Shall that land", "files?", "[y] land it")
            screen.type(typed)
            screen.wait_for_end()
        assert ("kept apart" not in screen.text) == landed


@pytest.mark.parametrize(
    ("option", "word", "allowed"),
    [
        ("--isolation", "worktree", "none, clone"),
        ("--land", "yes", "never, ask, clean"),
        ("--sandbox", "on", "required, preferred, off"),
    ],
)
def test_another_word_is_refused_with_those_that_are_allowed(
    ohm: Callable[..., Done], option: str, word: str, allowed: str
) -> None:
    done = ohm("run", "finder", "x", option, word)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{option} is '{word}'; allowed: {allowed}.\n"
