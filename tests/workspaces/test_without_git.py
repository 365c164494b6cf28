"""Without git a task works on a copy, and its work is shown, lands and is discarded as with git."""

import errno
import os
import signal
import sys

import anyio
import pytest
from acting import ActingBackend
from git_trees import fingerprint, repository, write

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC
from ohm_subagents.workspaces import GitWorkspaces, Landings, workspaces_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    """In real time, in which files are copied."""
    return "asyncio"


@pytest.fixture
def env(tmp_path):
    (tmp_path / "bin").mkdir()
    return {**HERMETIC, "PATH": f"{tmp_path / 'bin'}", "XDG_CACHE_HOME": f"{tmp_path / 'cache'}"}


@pytest.fixture
def parent(tmp_path):
    made = tmp_path / "parent"
    (made / "folder" / "deep").mkdir(parents=True)
    write(made, a="one\ntwo\n", b="two\n", run="#!/bin/sh\n")
    (made / "run").chmod(0o755)
    (made / "folder" / "deep" / "c").write_bytes(b"\0binary")
    (made / "folder" / os.fsdecode(b"\xff")).write_text("a name of any bytes\n")
    (made / "link").symlink_to("folder/deep/c")
    os.mkfifo(made / "pipe")
    return made


def opened(env, parent, act, **subagents):
    config = {"subagentBackend": "acting", "subagents": {"isolation": "clone", **subagents}}
    return Ohm.open(cwd=parent, env=env, config=config, plugins=[ActingBackend(act)])


async def changing(request, _sink):
    here = request.cwd
    write(here, a="one\nchanged\n", d="new")
    (here / "b").unlink()
    (here / "folder" / "deep" / "c").write_bytes(b"\0other")
    return (here / "run").read_text()


async def test_a_task_works_on_a_copy_and_its_work_is_counted_shown_and_landed(env, parent, tmp_path):
    before = fingerprint(parent)
    async with opened(env, parent, changing) as ohm:
        envelope = (await ohm.run("finder", "p")).unwrap()
        assert fingerprint(parent) == before
        work = envelope.workspace
        assert (work.files, work.insertions, work.deletions, work.landed) == (4, 2, 2, "no")
        patch = (await workspaces_of(env).unwrap().diff(parent, envelope.task_id)).unwrap()
        landed = (await ohm.land(envelope.task_id)).unwrap()
        again = (await ohm.land(envelope.task_id)).unwrap_err()
    assert landed.workspace.landed == "clean"
    assert again.code == "nothing_to_land"
    assert (parent / "a").read_text() == "one\nchanged\n"
    assert (parent / "folder" / "deep" / "c").read_bytes() == b"\0other"
    assert not (parent / "b").exists()
    assert (parent / "run").stat().st_mode & 0o777 == 0o755
    assert b"-two\n+changed\n" in patch
    assert b"Binary files a/folder/deep/c and b/folder/deep/c differ\n" in patch
    assert b"+new\n\\ No newline at end of file\n" in patch
    assert not [*tmp_path.rglob("clones/*")]


async def test_the_patch_is_one_that_git_applies(env, parent, tmp_path):
    copy = repository(tmp_path / "copy", a="one\ntwo\n", b="two\n")

    async def act(request, _sink):
        write(request.cwd, a="one\nchanged\n", d="new")
        (request.cwd / "b").unlink()
        return "done"

    async with opened(env, parent, act) as ohm:
        task = (await ohm.run("finder", "p")).unwrap().task_id
    patch = (await workspaces_of(env).unwrap().diff(parent, task)).unwrap()
    await anyio.run_process(["git", "apply"], cwd=copy, input=patch)
    assert {one.name: one.read_text() for one in copy.iterdir() if one.is_file()} == {"a": "one\nchanged\n", "d": "new"}


async def test_what_both_have_changed_is_a_conflict_and_nothing_lands(env, parent):
    async with opened(env, parent, changing) as ohm:
        task = (await ohm.run("finder", "p")).unwrap().task_id
        write(parent, a="mine\n", d="mine too\n")
        before = fingerprint(parent)
        refused = (await ohm.land(task)).unwrap_err()
        assert fingerprint(parent) == before
        assert (await ohm.discard(task)).unwrap().workspace.landed == "discarded"
    assert refused.code == "landing_conflict"
    assert "a: both have changed it, and without git no lines are merged" in f"{refused}"


async def test_follow_ups_go_on_and_siblings_land_one_after_the_other(env, parent):
    async def act(request, _sink):
        name, text = request.prompt.split()
        with (request.cwd / name).open("a") as file:
            file.write(f"{text}\n")
        return (request.cwd / name).read_text()

    async with opened(env, parent, act, sendToFinished="resume") as ohm:
        first = (await ohm.run("finder", "a x", land="clean")).unwrap()
        other = (await ohm.run("finder", "b y")).unwrap()
        more = (await ohm.handle(other.task_id).send("b z")).unwrap()
        assert more.output == "two\ny\nz\n"
        assert (await ohm.land(more.task_id)).unwrap().workspace.landed == "clean"
    assert first.workspace.landed == "clean"
    assert (parent / "a").read_text() == "one\ntwo\nx\n"
    assert (parent / "b").read_text() == "two\ny\nz\n"


async def test_a_change_of_the_parent_is_seen_and_a_task_that_changes_nothing_leaves_nothing(env, parent, tmp_path):
    async def act(_request, _sink):
        write(parent, a="by somebody\n")
        return "done"

    async with opened(env, parent, act) as ohm:
        envelope = (await ohm.run("finder", "p")).unwrap()
    assert envelope.workspace is None
    assert "changed while the task ran in a clone, and not landed: a" in f"{envelope.diagnostics}"
    assert not [*tmp_path.rglob("refs/*")]


async def test_what_a_killed_process_left_is_kept_or_taken_back_by_the_next_one(env, parent):
    workspaces = workspaces_of(env).unwrap()
    beginning = (await workspaces.begin(parent, "task_1")).unwrap()
    async with workspaces.clone(beginning) as clone:
        write(clone.unwrap().directory, a="by the task\n")
        place = clone.unwrap().top.parent
        left = place.with_name("left")
        place.rename(left)
        left.with_suffix(".lock").touch()
    assert b"+by the task" in (await workspaces.diff(parent, "task_1")).unwrap()
    assert not left.exists()


KILLED = """
import os, signal, sys
from pathlib import Path
import anyio
from ohm_subagents.workspaces import Landings, workspaces_of
parent, at = Path(sys.argv[1]), sys.argv[2]
def step(name):
    if name == at:
        os.kill(os.getpid(), signal.SIGKILL)
anyio.run(Landings(workspaces_of(os.environ).unwrap(), step=step).land, parent, "task_1")
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "at", ["staged", "journal written", "file taken out", "file put in", "all replaced", "recorded"]
)
async def test_a_landing_that_is_killed_is_taken_back_or_made_by_the_next_look(env, parent, at):
    async with opened(env, parent, changing) as ohm:
        await ohm.run("finder", "p")
    workspaces = workspaces_of(env).unwrap()
    beginning = (await workspaces.begin(parent, "task_1")).unwrap()
    async with workspaces.clone(beginning) as clone:
        write(clone.unwrap().directory, a="by the task\n", d="new")
        (await workspaces.keep_clone(beginning, clone.unwrap())).unwrap()
    before = fingerprint(parent)
    died = await anyio.run_process([sys.executable, "-c", KILLED, f"{parent}", at], env=env, check=False)
    assert died.returncode == -signal.SIGKILL
    (await workspaces.begin(parent, "task_2")).unwrap()
    landing = await Landings(workspaces).land(parent, "task_1")
    if at == "recorded":
        assert "have landed" in f"{landing.unwrap_err()}"
    else:
        assert landing.unwrap().files == ("a", "d")
    changed = {one.name for one, facts in fingerprint(parent).items() if before.get(one) != facts}
    assert changed == {"a", "d"}


async def test_a_runner_gets_no_files_and_that_is_said(env, parent):
    error = (await GitWorkspaces.of(env).unwrap().begin(parent, "task_1")).unwrap_err()
    assert f"{error}" == "git is not installed. Install it: a workspace of its own is a clone."


async def test_what_a_landing_cannot_take_back_stays_where_the_next_look_finds_it(env, parent, tmp_path):
    async with opened(env, parent, changing) as ohm:
        task = (await ohm.run("finder", "p")).unwrap().task_id
    before = (parent / "a").read_text()

    def fail(name):
        if name == "file taken out":
            (journal,) = tmp_path.glob("cache/*/workspaces/copies/*/ohm-landing/journal")
            journal.rename(journal.with_name("aside"))
            journal.mkdir()
            raise OSError(errno.EIO, "the disk is broken")

    await Landings(workspaces_of(env).unwrap(), step=fail).land(parent, task)
    (journal,) = tmp_path.glob("cache/*/workspaces/copies/*/ohm-landing/journal")
    journal.rmdir()
    journal.with_name("aside").rename(journal)
    (await workspaces_of(env).unwrap().begin(parent, "task_2")).unwrap()
    assert (parent / "a").read_text() == before
