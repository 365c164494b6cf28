"""`ohm diff <id>`: a patch of what a task did to files of its own."""

from __future__ import annotations

import time

import anyio
from git_trees import git, repository, write
from store_tasks import Clock, Hand, opened

from ohm_subagents.contract import WorkspaceKept


def test_the_changes_of_a_task_are_a_patch(ohm) -> None:
    parent = repository(ohm.root / "parent", a="one\n")
    base = git(parent, "rev-parse", "HEAD")
    write(parent, a="two\n", b="\x1b]52;c;x\x07\n")
    git(parent, "add", "-A")
    git(parent, "commit", "-q", "-m", "second")
    git(parent, "update-ref", "refs/ohm/task_1", "HEAD")
    git(parent, "update-ref", "refs/ohm/task_1.base", base)
    patch = git(parent, "diff", "--full-index", base, "HEAD")
    git(parent, "reset", "-q", "--hard", base)

    async def keep() -> None:
        clock = Clock(int(time.time() * 1000))
        async with opened("sqlite", ohm.root / "config", clock) as store:
            kept = WorkspaceKept(base=base, ref="refs/ohm/task_1", files=2, insertions=2, deletions=1)
            Hand(store, clock).settled("task_1", kept, cwd=f"{parent}")
            Hand(store, clock).settled("other", cwd=f"{parent}")
            await store.flush()

    anyio.run(keep)
    done = ohm("diff", "task")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{patch}\n", "")
    none = ohm("diff", "other")
    assert (none.returncode, none.stdout, none.stderr) == (0, "", "Task 'other' has changed no files of its own.\n")
    assert ohm("task", "task_1").stdout.count("refs/ohm/task_1: 2 file(s), +2 -1") == 1
