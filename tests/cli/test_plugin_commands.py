"""Commands that installed distributions bring to `ohm`."""

import os

import pytest
from command_line import in_a_process, in_this_process

MODULE = """
import sys
import typer

print("imported", file=sys.stderr)
notes = typer.Typer(help="Notes on reviews.")


@notes.command()
def add(text: str) -> None:
    "Add a note."
    print("added", text)


@notes.command()
def drop() -> None:
    print("dropped")


def review(file: str, *, strict: bool = False) -> None:
    "Review a file."
    print("reviewed", file, strict)
"""
ENTRY_POINTS = """[ohm_subagents.commands]
notes = ohm_review:notes
review = ohm_review:review
gone = ohm_review_that_is_not_there:review
run = ohm_review:review
delegate = ohm_review:review
"""


@pytest.fixture
def ohm(tmp_path):
    site, home = tmp_path / "site", tmp_path / "home"
    info = site / "ohm_review-1.2.dist-info"
    info.mkdir(parents=True)
    home.mkdir()
    (site / "ohm_review.py").write_text(MODULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ohm-review\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)

    def ohm(*arguments, called=in_this_process, **env):
        env = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(site), "LANG": "C.UTF-8", **env}
        return called(*arguments, cwd=home, env=env)

    return ohm


def test_help_names_them_and_imports_none(ohm) -> None:
    done = ohm("--help")

    assert "  review     A command of ohm-review 1.2.\n" in done.stdout
    assert "  run        Run one task" in done.stdout
    assert "  delegate   Delegate tasks to parallel subagents.\n" in done.stdout
    assert (done.returncode, done.stderr) == (0, "")


def test_a_function_and_a_group_of_commands_run_with_their_arguments(ohm) -> None:
    assert ohm("review", "a.py", "--strict", called=in_a_process).stdout == "reviewed a.py True\n"
    assert ohm("notes", "add", "x").stdout == "added x\n"
    assert "Add a note." in ohm("notes", "--help").stdout


def test_wrong_arguments_are_refused_as_any_command_refuses_them(ohm) -> None:
    done = ohm("review")

    assert done.returncode == 2
    assert "Missing argument 'file'" in done.stderr


def test_one_that_cannot_be_imported_says_so_and_costs_nothing_else(ohm) -> None:
    done = ohm("gone")

    why = "ModuleNotFoundError: No module named 'ohm_review_that_is_not_there'"
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"The command 'gone' of ohm-review cannot be loaded: {why}.\n"


def test_one_that_the_user_leaves_out_is_not_imported(ohm, tmp_path) -> None:
    blocked = ohm("review", "a.py", OHM_SUBAGENTS_BLOCK_PLUGINS="review")
    (tmp_path / "ohm.json").write_text('{"blockPlugins": "a, review"}')
    written = ohm("review", "a.py", PI_CONFIG_DIR=str(tmp_path))
    unlisted = ohm("review", "a.py", OHM_SUBAGENTS_LOAD_PLUGINS="notes")

    told = "The command 'review' of ohm-review is left out by loadPlugins or blockPlugins.\n"
    assert [(one.returncode, one.stdout, one.stderr) for one in (blocked, written, unlisted)] == [(2, "", told)] * 3


def test_one_that_is_left_out_counts_as_installed_and_a_misspelt_one_is_named(ohm) -> None:
    left_out = ohm("plugins", OHM_SUBAGENTS_BLOCK_PLUGINS="review")
    misspelt = ohm("plugins", OHM_SUBAGENTS_BLOCK_PLUGINS="reveiw")

    assert left_out.stderr == ""
    assert "'blockPlugins' names 'reveiw', which is not installed. Did you mean 'review'?" in misspelt.stderr


def test_an_unreadable_configuration_runs_no_code_of_others(ohm, tmp_path) -> None:
    (tmp_path / "ohm.json").write_text("{")
    done = ohm("review", "a.py", PI_CONFIG_DIR=str(tmp_path))

    assert (done.returncode, done.stdout) == (2, "")
    assert "Cannot read the configuration" in done.stderr
    assert "imported" not in done.stderr
