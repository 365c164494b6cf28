"""Files in no repository, with git and without, once a power cut or a full disk has damaged the record of them."""

import errno
import os

import pytest
from git_trees import fingerprint, write
from plain_trees import environment, files

from ohm_subagents.workspaces import Landings, workspaces_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    """In real time, in which files are copied."""
    return "asyncio"


def kept(tmp_path, *patterns):
    """The files that are kept, of some kinds."""
    found = [one for each in patterns for one in tmp_path.glob(f"cache/*/workspaces/*/*/{each}") if one.is_file()]
    assert found
    return found


def halve(file):
    file.chmod(0o600)
    os.truncate(file, file.stat().st_size // 2)


def empty(file):
    file.chmod(0o600)
    os.truncate(file, 0)


def blank(file):
    """Let a pack have its size, but nothing in it: only the content that is read tells that."""
    size = file.stat().st_size
    file.chmod(0o600)
    with file.open("r+b") as opened:
        opened.seek(12)
        opened.write(bytes(max(0, size - 32)))


PACKS, INDEXES = ("files/*.pack", "objects/pack/*.pack"), ("files/*.idx", "objects/pack/*.idx")
DAMAGE = {
    "packs that are cut off": (halve, PACKS),
    "packs that are gone": (os.unlink, PACKS),
    "indexes of packs that are cut off": (halve, INDEXES),
    "empty trees": (empty, ("trees/*", "objects/??/*")),
    "an index that is cut off": (halve, ("index",)),
    "an empty index": (empty, ("index",)),
    "another index": (lambda file: file.write_bytes(b"{}"), ("index",)),
}


async def worked(workspaces, parent, task, **changes):
    """The beginning of a task that changes files, and ends."""
    beginning = (await workspaces.begin(parent, task)).unwrap()
    async with workspaces.clone(beginning) as clone:
        assert files(clone.unwrap().directory) == files(parent)
        write(clone.unwrap().directory, **changes)
        (await workspaces.keep_clone(beginning, clone.unwrap())).unwrap()
    return beginning


@pytest.mark.parametrize(("damage", "of"), DAMAGE.values(), ids=DAMAGE)
async def test_what_is_damaged_is_made_anew_from_the_files_as_long_as_no_task_needs_it(
    env, parent, tmp_path, damage, of
):
    await worked(workspaces_of(env).unwrap(), parent, "task_1")
    for file in kept(tmp_path, *of):
        damage(file)
    workspaces = workspaces_of(env).unwrap()
    beginning = await worked(workspaces, parent, "task_2", b="by the task\n")
    assert await workspaces.changed(beginning) == []
    assert b"+by the task" in (await workspaces.diff(parent, "task_2")).unwrap()
    assert (await Landings(workspaces).land(parent, "task_2")).unwrap().files == ("b",)


async def test_an_object_that_another_process_is_writing_is_not_damaged(parent, tmp_path):
    env = environment(tmp_path, has_git=True)
    await worked(workspaces_of(env).unwrap(), parent, "task_1")
    unfinished = kept(tmp_path, "objects/??/*")[0].with_name("tmp_obj_1")
    unfinished.touch()
    await worked(workspaces_of(env).unwrap(), parent, "task_2")
    assert unfinished.exists()


@pytest.mark.parametrize("damage", [halve, os.unlink, blank])
async def test_work_that_is_damaged_is_an_error_of_one_sentence_and_may_be_discarded(env, parent, tmp_path, damage):
    await worked(workspaces_of(env).unwrap(), parent, "task_1", a="by the task\n")
    before = fingerprint(parent)
    for file in kept(tmp_path, *PACKS):
        damage(file)
    workspaces = workspaces_of(env).unwrap()
    errors = [(await workspaces.diff(parent, "task_1")).unwrap_err()]
    errors.append((await Landings(workspaces).land(parent, "task_1")).unwrap_err())
    assert all(one.code == "workspace_failed" and len(f"{one}".splitlines()) == 1 for one in errors), errors
    if damage is not blank:
        (await workspaces.begin(parent, "task_2")).unwrap()
        (await workspaces.forget(parent, "task_1")).unwrap()
        assert (await workspaces.diff(parent, "task_1")).err() is not None
    (await Landings(workspaces).discard(parent, "task_1")).unwrap()
    assert (await workspaces.diff(parent, "task_1")).unwrap() == b""
    assert fingerprint(parent) == before


async def test_work_whose_beginning_is_gone_is_an_error_and_no_empty_patch(env, parent, tmp_path):
    workspaces = workspaces_of(env).unwrap()
    await worked(workspaces, parent, "task_1", a="by the task\n")
    for ref in kept(tmp_path, "refs/task_1.base", "refs/ohm/task_1.base"):
        ref.unlink()
    assert (await workspaces.diff(parent, "task_1")).unwrap_err().code == "workspace_failed"


async def test_work_that_does_not_reach_the_disk_is_left_and_the_error_names_it(env, parent, monkeypatch):
    def fail(_file):
        raise OSError(errno.EIO, "the disk is broken")

    workspaces = workspaces_of(env).unwrap()
    beginning = (await workspaces.begin(parent, "task_1")).unwrap()
    async with workspaces.clone(beginning) as clone:
        write(clone.unwrap().directory, a="by the task\n")
        monkeypatch.setattr(os, "fsync", fail)
        error = (await workspaces.keep_clone(beginning, clone.unwrap())).unwrap_err()
    assert "the disk is broken" in error.message
    assert "/unkept/task_1-" in error.advice
    assert (await workspaces.diff(parent, "task_1")).unwrap() == b""
