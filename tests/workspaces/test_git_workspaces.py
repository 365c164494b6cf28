"""A clone of a directory for a task, and the way back: what travels, what is kept, and what never changes."""

import errno
import fcntl
import os
import sys

import anyio
import full_disk
import isolated_owner
import pytest
import workspace_holder
from forking import forked
from git_trees import fingerprint, git, repository, trapped, write

from ohm_subagents.workspaces import GitWorkspaces, ref_of
from ohm_subagents.workspaces.places import private_directory

pytestmark = pytest.mark.anyio
ENV = {"PATH": os.environ["PATH"]}


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def workspaces(tmp_path):
    return GitWorkspaces(tmp_path / "cache", ENV | {"HOME": f"{tmp_path}"})


async def played(workspaces, directory, act, task="task_1"):
    """Let `act` work in a clone of a bundle, and keep what it did; None where that is nothing."""
    beginning = (await workspaces.begin(directory, task)).unwrap()
    bundle = (await workspaces.bundle(beginning)).unwrap()
    async with workspaces.clone_of(bundle, beginning.within) as clone:
        act(clone.unwrap().directory)
        done = (await clone.unwrap().work()).unwrap()
    if done:
        return (await workspaces.keep(directory, task, done)).unwrap()
    return (await workspaces.forget(directory, task)).unwrap()


def names(directory):
    """All files below a directory but those of git."""
    found = (path.relative_to(directory) for path in directory.rglob("*") if not path.is_dir() or path.is_symlink())
    return sorted(f"{path}" for path in found if ".git" not in path.parts)


def is_there(directory):
    return os.path.isdir(directory)


async def test_work_comes_back_as_a_reference_and_nothing_else_of_the_parent_changes(workspaces, tmp_path):
    parent = repository(tmp_path / "parent", a="one\n", b="two\n", c="three\n", _gitignore="*.log\n")
    write(parent, a="changed\n", d="untracked\n", e_log="ignored\n")
    (parent / "b").unlink()
    git(parent, "add", "d")
    before = fingerprint(parent)
    seen = []

    def act(clone):
        seen.extend(names(clone))
        (clone / "a").write_text("changed\nby the child\n")
        git(clone, "commit", "-qam", "a commit of the child")
        (clone / "f").write_text("left\n")
        (clone / "c").unlink()

    work = await played(workspaces, parent, act)
    assert seen == [".gitignore", "a", "c", "d"]
    assert (work.ref, work.files, work.insertions, work.deletions) == ("refs/ohm/task_1", 3, 2, 1)
    assert git(parent, "log", "--format=%s", work.ref).splitlines() == [
        "Files that the run left uncommitted",
        "a commit of the child",
        "Files that the task began with",
        "first",
    ]
    assert git(parent, "show", f"{work.ref}:a") == "changed\nby the child"
    assert fingerprint(parent) == before


async def test_no_setting_hook_or_filter_of_the_parent_runs_and_none_of_the_child(workspaces, tmp_path):
    canary = tmp_path / "canary"
    parent = repository(tmp_path / "parent", a="one\r\n")
    trapped(parent, canary)
    before = fingerprint(parent)

    def act(clone):
        assert (clone / "a").read_bytes() == b"one\r\n"
        trapped(clone, canary)
        (clone / "b").write_text("two\n")

    work = await played(workspaces, parent, act)
    assert work.files == 1
    assert fingerprint(parent) == before
    assert not canary.exists()
    git(parent, "--work-tree", f"{parent}", "add", "-A")
    assert canary.exists()


async def test_a_run_that_changes_nothing_leaves_nothing(workspaces, tmp_path):
    parent = repository(tmp_path / "parent", a="one\n")
    write(parent, b="untracked\n")
    assert await played(workspaces, parent, lambda _clone: None) is None
    assert git(parent, "for-each-ref", "refs/ohm") == ""
    assert names(tmp_path / "cache") == []


@pytest.mark.slow
async def test_a_task_goes_on_with_what_it_has_done_before(workspaces, tmp_path):
    parent = repository(tmp_path / "parent", a="one\n")
    await played(workspaces, parent, lambda clone: write(clone, b="first\n"))
    write(parent, a="changed meanwhile\n")
    seen = []
    work = await played(
        workspaces, parent, lambda clone: [seen.append((clone / "b").read_text()), write(clone, c="second\n")]
    )
    assert seen == ["first\n"]
    assert (work.files, work.insertions) == (2, 2)
    assert git(parent, "ls-tree", "--name-only", "refs/ohm/task_1").split() == ["a", "b", "c"]


@pytest.mark.slow
async def test_a_directory_outside_of_any_repository_has_one_of_ours(workspaces, tmp_path):
    place = tmp_path / "plain"
    (place / "inner").mkdir(parents=True)
    write(place, a="one\n")
    before = fingerprint(place)
    work = await played(workspaces, place / "inner", lambda clone: write(clone, b="two\n"))
    assert (work.files, work.insertions) == (1, 1)
    assert fingerprint(place) == before


async def test_files_that_are_in_no_repository_are_read_anew_if_they_have_changed_and_are_gone_once_they_are_ignored(
    workspaces, tmp_path
):
    place = tmp_path / "plain"
    place.mkdir()
    write(place, a="one\n", b="one\n", c="one\n")
    first = (await workspaces.begin(place, "task_1")).unwrap()
    assert await workspaces.changed(first) == []
    write(place, a="two\n", d="new\n", **{".gitignore": "b\n"})
    (place / "c").unlink()
    assert await workspaces.changed(first) == [".gitignore", "a", "b", "c", "d"]
    async with workspaces.clone((await workspaces.begin(place, "task_2")).unwrap()) as clone:
        here = clone.unwrap().directory
        assert {one.name for one in here.iterdir()} == {".git", ".gitignore", "a", "d"}
        assert (here / "a").read_text() == "two\n"


async def test_a_child_that_breaks_its_repository_loses_no_file(workspaces, tmp_path):
    parent = repository(tmp_path / "parent", a="one\n")

    def act(clone):
        for path in ("index", "HEAD", "config"):
            (clone / ".git" / path).write_bytes(b"\0broken")
        write(clone, b="two\n")

    assert (await played(workspaces, parent, act)).files == 1
    assert git(parent, "show", "refs/ohm/task_1:b") == "two"


async def test_work_that_cannot_be_kept_is_saved_and_the_error_says_where(workspaces, tmp_path):
    parent = repository(tmp_path / "parent", a="one\n")
    error = (await workspaces.keep(parent, "task_1", b"no bundle")).unwrap_err()
    assert error.code == "workspace_failed"
    [saved] = (tmp_path / "cache" / "unkept").iterdir()
    assert f"{saved}" in error.advice
    assert saved.read_bytes() == b"no bundle"


async def test_a_clone_whose_work_cannot_be_kept_is_left_and_the_error_names_it(workspaces, tmp_path):
    parent = repository(tmp_path / "parent", a="one\n")
    beginning = (await workspaces.begin(parent, "task_1")).unwrap()
    async with workspaces.clone(beginning) as clone:
        write(clone.unwrap().directory, a="two\n")
        (parent / ".git" / "refs" / "ohm" / "task_1.lock").touch()
        error = (await workspaces.keep_clone(beginning, clone.unwrap())).unwrap_err()
    [left] = (tmp_path / "cache" / "unkept").iterdir()
    assert error.advice == f"The files are left in '{left}'."
    assert (left / "a").read_text() == "two\n"


async def test_what_cannot_be_a_workspace_is_said_in_a_sentence(workspaces, tmp_path):
    bare = tmp_path / "bare"
    bare.mkdir()
    git(bare, "init", "-q", "--bare")
    stray = tmp_path / "stray"
    stray.mkdir()
    write(stray, _git="gitdir: /nowhere\n")
    astray = repository(tmp_path / "astray", a="one\n")
    (astray / ".git" / "refs" / "ohm").symlink_to(tmp_path)
    broken = repository(tmp_path / "broken", a="one\n")
    (broken / ".git" / "refs" / "heads" / "main").write_text("1" * 40 + "\n")

    async def why(directory):
        return str((await workspaces.begin(directory, "task_1")).unwrap_err())

    assert await why(bare) == (
        f"'{bare}' is a bare repository, which has no files to work on. Give a directory with a working tree."
    )
    assert await why(stray) == (
        f"'{stray / '.git'}' does not lead to a repository. Mend it with 'git worktree repair', or remove it."
    )
    assert await why(astray) == (
        f"'{astray / '.git' / 'refs' / 'ohm'}' is a link, and leads out of the repository. Remove it."
    )
    assert await why(tmp_path / "gone") == f"'{tmp_path / 'gone'}' is not a directory."
    assert await why(broken) == f"'git log' failed in '{broken}': bad object {'1' * 40}."


async def test_without_git_the_error_says_what_to_install(tmp_path):
    repository(tmp_path / "parent")
    error = (
        await GitWorkspaces(tmp_path / "cache", {"PATH": "here"}).begin(tmp_path / "parent", "task_1")
    ).unwrap_err()
    assert str(error) == "git is not installed. Install it: a workspace of its own is a clone."


def test_any_id_of_a_task_is_a_reference():
    assert ref_of("task_1") == "refs/ohm/task_1"
    assert ref_of("a/../b c~1.lock") == "refs/ohm/a%2F%2E%2E%2Fb%20c%7E1%2Elock"
    assert len(ref_of("日" * 200)) == len("refs/ohm/") + 64


async def test_what_a_process_that_died_left_is_swept_and_what_is_held_is_not(workspaces, tmp_path):
    clones = tmp_path / "cache" / "clones"
    (clones / "left" / "locked").mkdir(parents=True)
    write(clones / "left" / "locked", a="one\n")
    (clones / "left" / "locked").chmod(0)
    (clones / "left.lock").touch()
    async with private_directory(clones) as held:
        await workspaces.begin(repository(tmp_path / "parent"), "task_1")
        assert [one.name for one in sorted(clones.iterdir())] == [held.name, f"{held.name}.lock"]


async def test_where_no_lock_is_possible_nothing_that_is_held_is_swept(workspaces, tmp_path, monkeypatch):
    def refused(_descriptor, _operation):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refused)
    clones = tmp_path / "cache" / "clones"
    async with private_directory(clones) as held:
        await workspaces.begin(repository(tmp_path / "parent"), "task_1")
        assert is_there(held)
    assert names(clones) == []


@pytest.mark.slow
async def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mounted = (
        f"mount -t tmpfs -o size=1m tmpfs {small} && exec {sys.executable} {full_disk.__file__} {tmp_path} {small}"
    )
    done = await anyio.run_process(["unshare", "-rm", "sh", "-c", mounted], check=False, env=ENV)
    if b"unshare" in done.stderr or b"mount" in done.stderr:
        pytest.skip(f"no file system can be mounted here: {done.stderr.decode()}")
    assert done.stdout.decode().replace(f"{tmp_path}", "").splitlines()[0] == (
        "'git bundle' failed in '/parent': sha1 file '<stdout>' write error. Out of diskspace."
    )
    assert done.stdout.decode().splitlines()[1].endswith("unable to write file 'big'.")
    assert done.stdout.decode().splitlines()[2] == "['cache', 'clones'] True"
    refused, seen, again = done.stdout.decode().replace(f"{small}", "<small>").splitlines()[3:]
    assert refused.endswith("unable to write file <small>/project/.git/ohm-landing/new/big.")
    assert (seen, again) == ("True one False", "clean two")


@pytest.mark.slow
async def test_a_killed_process_leaves_a_clone_that_the_next_one_sweeps(workspaces, tmp_path):
    parent = repository(tmp_path / "parent", a="one\n")
    with forked(workspace_holder.__file__, f"{parent}", f"{tmp_path / 'cache'}") as child:
        directory = child.stdout.readline().strip()
        await workspaces.begin(parent, "task_1")
        assert is_there(directory)
        child.kill()
        child.wait()
    await GitWorkspaces(tmp_path / "cache", ENV).begin(parent, "task_1")
    assert names(tmp_path / "cache") == []
    assert not is_there(directory)


def ended(*words):
    """Return the lines that a process with a task says until it ends, or is killed."""
    with forked(isolated_owner.__file__, *words) as child:
        lines = child.stdout.read().split()
        child.wait()
    return lines


@pytest.mark.slow
async def test_whenever_a_process_is_killed_the_files_stay_and_the_work_is_kept_by_the_next_one(tmp_path):
    whole = repository(tmp_path / "whole", a="one\n")
    _, count = ended(f"{whole}", f"{tmp_path / 'of whole'}", "0")
    for step in range(1, int(count) + 1, 2):
        parent, root = repository(tmp_path / f"parent{step}", a="one\n"), tmp_path / f"cache{step}"
        write(parent, b="untracked\n")
        before = fingerprint(parent)
        said = ended(f"{parent}", f"{root}", f"{step}")
        assert said in ([], ["worked"])
        workspaces = GitWorkspaces(root, ENV)
        begun = (await workspaces.begin(parent, "task_1")).unwrap()
        assert git(parent, "show", f"{begun.commit}:a") == ("by the task" if said else "one"), step
        assert git(parent, "show", f"{begun.commit}:b") == "untracked", step
        assert names(root) == [], step
        assert fingerprint(parent) == before, step


async def test_what_a_task_did_is_taken_into_files_that_differ_from_the_last_commit(workspaces, tmp_path):
    parent = repository(tmp_path / "parent", a="one\n", b="two\n")
    write(parent, a="changed\n", d="untracked\n")

    def act(directory):
        write(directory, a="changed again\n", d="untracked no more\n", e="new\n")

    work = await played(workspaces, parent, act)
    (tmp_path / "patch").write_text(git(parent, "diff", "--binary", f"{work.ref}.base", work.ref) + "\n")
    git(parent, "apply", f"{tmp_path / 'patch'}")

    taken = {name: (parent / name).read_text() for name in "abde"}
    assert taken == {"a": "changed again\n", "b": "two\n", "d": "untracked no more\n", "e": "new\n"}


async def test_what_a_task_did_is_merged_where_nothing_was_uncommitted(workspaces, tmp_path):
    parent = repository(tmp_path / "parent", a="one\n")
    work = await played(workspaces, parent, lambda directory: write(directory, a="two\n"))
    git(parent, "merge", work.ref)
    assert (parent / "a").read_text() == "two\n"
