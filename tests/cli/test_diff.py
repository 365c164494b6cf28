"""`ohm diff`, `ohm land` and `ohm discard`: what a task did to files of its own, as a patch, in yours, or gone."""

from __future__ import annotations

import os
import time

import anyio
from git_trees import git, repository, write
from store_tasks import Clock, Hand, opened

from ohm_subagents.contract import WorkspaceKept


def kept(ohm, *tasks):
    """A repository with the work of these tasks, and one task without."""
    parent = repository(ohm.root / "parent", a="one\n")
    base = git(parent, "rev-parse", "HEAD")
    write(parent, a="two\n", b="\x1b]52;c;x\x07\n")
    git(parent, "add", "-A")
    git(parent, "commit", "-q", "-m", "second")
    for task in tasks:
        git(parent, "update-ref", f"refs/ohm/{task}", "HEAD")
        git(parent, "update-ref", f"refs/ohm/{task}.base", base)
    git(parent, "reset", "-q", "--hard", base)

    async def keep() -> None:
        clock = Clock(int(time.time() * 1000))
        async with opened("sqlite", ohm.root / "config", clock) as store:
            for task in tasks:
                work = WorkspaceKept(base=base, ref=f"refs/ohm/{task}", files=2, insertions=2, deletions=1)
                Hand(store, clock).settled(task, work, cwd=f"{parent}")
            Hand(store, clock).settled("other", cwd=f"{parent}")
            await store.flush()

    anyio.run(keep)
    return parent


def test_the_changes_of_a_task_are_a_patch(ohm) -> None:
    parent = kept(ohm, "task_1")
    patch = git(parent, "diff", "--full-index", "refs/ohm/task_1.base", "refs/ohm/task_1")
    done = ohm("diff", "task")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{patch}\n", "")
    none = ohm("diff", "other")
    assert (none.returncode, none.stdout) == (0, "")
    assert none.stderr.startswith("Task 'other' had no clone, so what it changed is in your files. `ohm run --")
    assert ohm("task", "task_1").stdout.count("refs/ohm/task_1: 2 files, +2 -1") == 1


def test_the_changes_of_a_task_land_once_and_those_of_another_are_discarded(ohm) -> None:
    parent = kept(ohm, "task_1", "task_2")
    done = ohm("land", "task_1")
    told = "The work of task 'task_1' has landed, uncommitted: 2 files, +2 -1.\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, told, "")
    assert ((parent / "a").read_text(), (parent / "b").read_text()) == ("two\n", "\x1b]52;c;x\x07\n")
    again = ohm("land", "task_1")
    assert (again.returncode, again.stdout) == (1, "")
    assert "The changes of task 'task_1' have landed; there is nothing more to land." in again.stderr
    gone = ohm("discard", "task_2")
    assert (gone.returncode, gone.stdout) == (0, "The work of task 'task_2' is discarded: 2 files, +2 -1.\n")
    none = ohm("diff", "task_2")
    assert (none.returncode, none.stdout, none.stderr) == (0, "", "The work of task 'task_2' was discarded.\n")
    assert "refs/ohm/task_2: 2 files, +2 -1, discarded" in ohm("task", "task_2").stdout
    assert ohm("land", "other").stderr == ohm("discard", "other").stderr == ohm("diff", "other").stderr


def test_changes_that_do_not_fit_are_named_and_nothing_lands(ohm) -> None:
    parent = kept(ohm, "task_1")
    write(parent, a="by the user\n")
    done = ohm("land", "task_1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "a line 1: both have changed it" in done.stderr
    assert not os.path.lexists(parent / "b")
