"""Files that are in no repository, with git and without: many at once, known again, and none of them lost."""

import os
import shutil
import subprocess
import sys

import anyio
import full_plain_disk
import plain_owner
import pytest
from git_trees import fingerprint, git, write
from plain_trees import environment, files

from ohm_subagents.workspaces import Landings, packed_files, packing, workspaces_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    """In real time, in which files are copied."""
    return "asyncio"


def put_back(file, text):
    """Write as many bytes as were there, and give the file its old time."""
    before = file.stat()
    file.write_text(text)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size


@pytest.mark.parametrize("settled_ns", [0, packed_files.SETTLED_NS])
async def test_every_clone_has_all_files_byte_by_byte_and_what_is_kept_is_whole(
    env, parent, tmp_path, monkeypatch, settled_ns
):
    monkeypatch.setattr(packed_files, "SETTLED_NS", settled_ns)
    before, all_files = fingerprint(parent), files(parent)
    workspaces = workspaces_of(env).unwrap()
    for task in ("task_1", "task_2"):
        beginning = (await workspaces.begin(parent, task)).unwrap()
        async with workspaces.clone(beginning) as clone:
            here = clone.unwrap().directory
            assert files(here) == all_files
            write(here, a=f"one\n{task}\n", b=task)
            (here / "folder" / "deep" / "large").unlink()
            work = (await workspaces.keep_clone(beginning, clone.unwrap())).unwrap()
        assert (work.files, fingerprint(parent)) == (3, before)
        assert await workspaces.changed(beginning) == []
    for kept in tmp_path.glob("cache/*/workspaces/repositories/*"):
        assert [*kept.glob("objects/pack/*.pack")]
        git(kept, "fsck", "--strict", "--no-dangling")
    landing = (await Landings(workspaces).land(parent, "task_1")).unwrap()
    assert landing.files == ("a", "b", "folder/deep/large")
    assert (parent / "a").read_text() == "one\ntask_1\n"


async def test_a_task_goes_on_with_its_files_whatever_became_of_the_parents(env, parent, monkeypatch):
    monkeypatch.setattr(packed_files, "SETTLED_NS", 0)
    workspaces = workspaces_of(env).unwrap()
    was = files(parent)
    for n in (1, 2):
        beginning = (await workspaces.begin(parent, "task_1")).unwrap()
        async with workspaces.clone(beginning) as clone:
            here = clone.unwrap().directory
            assert files(here) == was
            write(here, b=f"work {n}\n")
            was = files(here)
            (await workspaces.keep_clone(beginning, clone.unwrap())).unwrap()
        write(parent, a="changed meanwhile\n", z=f"and again {n}\n")
        (parent / "folder" / "block").unlink(missing_ok=True)


async def test_a_file_that_has_its_old_size_and_time_has_changed_all_the_same(env, parent, monkeypatch):
    if not env["PATH"].startswith(os.environ["PATH"]):
        monkeypatch.setattr(packed_files, "SETTLED_NS", 0)  # git knows seconds, within which it looks into a file
    workspaces = workspaces_of(env).unwrap()
    beginning = (await workspaces.begin(parent, "task_1")).unwrap()
    put_back(parent / "a", "One\ntwo\n")
    assert await workspaces.changed(beginning) == ["a"]
    beginning = (await workspaces.begin(parent, "task_2")).unwrap()
    async with workspaces.clone(beginning) as clone:
        here = clone.unwrap().directory
        assert (here / "a").read_text() == "One\ntwo\n"
        put_back(here / "b", "Two\n")
        work = (await workspaces.keep_clone(beginning, clone.unwrap())).unwrap()
    assert (work.files, work.insertions, work.deletions) == (1, 1, 1)


async def test_a_file_that_is_made_and_soon_removed_is_seen_to_come_and_go(env, parent, monkeypatch):
    workspaces = workspaces_of(env).unwrap()
    monkeypatch.setattr(packed_files, "SETTLED_NS", 0)
    first = (await workspaces.begin(parent, "task_1")).unwrap()
    monkeypatch.setattr(packed_files, "SETTLED_NS", 10**12)
    write(parent, n="new\n")
    assert await workspaces.changed(first) == ["n"]
    second = (await workspaces.begin(parent, "task_2")).unwrap()
    (parent / "n").unlink()
    assert await workspaces.changed(first) == []
    assert await workspaces.changed(second) == ["n"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all files")
async def test_a_file_that_cannot_be_read_is_named(env, parent):
    (parent / "secret").touch(mode=0)
    assert "secret" in f"{(await workspaces_of(env).unwrap().begin(parent, 'task_1')).unwrap_err()}"


async def test_where_most_of_what_is_kept_is_of_no_use_it_is_kept_no_longer(parent, tmp_path, monkeypatch):
    env = environment(tmp_path, has_git=False)
    workspaces = workspaces_of(env).unwrap()
    large = parent / "folder" / "deep" / "large"
    sizes = []
    for _ in range(3):
        large.write_bytes(os.urandom(60_000_000))
        beginning = (await workspaces.begin(parent, "task_1")).unwrap()
        (await workspaces.forget(parent, "task_1")).unwrap()
        sizes.append(sum(one.stat().st_size for one in tmp_path.glob("cache/**/files/*")) // 10**6)
        assert await workspaces.changed(beginning) == []
    write(parent, **{"folder/deep/large": "small now\n"})
    beginning = (await workspaces.begin(parent, "task_1")).unwrap()
    async with workspaces.clone(beginning) as clone:
        assert files(clone.unwrap().directory) == files(parent)
    sizes.append(sum(one.stat().st_size for one in tmp_path.glob("cache/**/files/*")) // 10**6)
    assert sizes == [60, 120, 180, 0]


@pytest.mark.slow
async def test_on_a_full_disk_it_is_one_sentence_and_leaves_nothing(env, parent, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    script = f"{sys.executable} {full_plain_disk.__file__} {parent} {small}"
    mounted = f"{shutil.which('mount')} -t tmpfs -o size=100k tmpfs {small} && exec {script}"
    command = (shutil.which("unshare"), "-rm", shutil.which("sh"), "-c", mounted)
    done = await anyio.run_process(command, check=False, env=env)
    if b"unshare" in done.stderr or b"mount" in done.stderr:
        pytest.skip(f"no file system can be mounted here: {done.stderr.decode()}")
    assert done.stdout.decode() == "workspace_failed [] True"


def killed_at(env, parent, n):
    """The words of a process that is killed at its n-th step, or 0 for never."""
    command = [sys.executable, plain_owner.__file__, f"{parent}", f"{n}"]
    return subprocess.run(command, env=env, check=False, capture_output=True).stdout.split()


@pytest.mark.slow
async def test_whenever_a_process_is_killed_nothing_of_it_is_left_and_the_work_is_kept(env, parent, tmp_path):
    before = fingerprint(parent)
    _, count = killed_at({**env, "XDG_CACHE_HOME": f"{tmp_path / 'whole'}"}, parent, 0)
    for n in range(1, int(count) + 1, int(count) // 12):
        root = tmp_path / f"cache{n}"
        env = {**env, "XDG_CACHE_HOME": f"{root}"}
        said = killed_at(env, parent, n)
        workspaces = workspaces_of(env).unwrap()
        beginning = (await workspaces.begin(parent, "task_1")).unwrap()
        async with workspaces.clone(beginning) as clone:
            here = clone.unwrap().directory
            assert (here / "a").read_text() == ("by the task\n" if said else "one\ntwo\n"), n
            assert files(here).keys() == files(parent).keys(), n
        assert [*root.glob("*/workspaces/clones/*")] == [], n
        assert fingerprint(parent) == before, n
    assert int(count) > 20


async def test_a_task_begins_after_one_was_landed_beside_a_change_of_the_user(env, parent):
    workspaces = workspaces_of(env).unwrap()
    beginning = (await workspaces.begin(parent, "task_1")).unwrap()
    async with workspaces.clone(beginning) as clone:
        write(clone.unwrap().directory, a="by the task\n")
        (await workspaces.keep_clone(beginning, clone.unwrap())).unwrap()
    write(parent, b="by the user meanwhile\n")
    assert (await Landings(workspaces).land(parent, "task_1")).unwrap().files == ("a",)
    after = (await workspaces.begin(parent, "task_2")).unwrap()
    async with workspaces.clone(after) as clone:
        assert files(clone.unwrap().directory) == files(parent)


async def test_a_directory_that_has_become_a_link_is_a_link_in_the_clone(env, parent, tmp_path):
    workspaces = workspaces_of(env).unwrap()
    for number in range(9):
        write(parent / "folder", **{f"file {number}": f"{number}\n"})
    (await workspaces.begin(parent, "task_1")).unwrap()
    (parent / "folder").rename(tmp_path / "elsewhere")
    (parent / "folder").symlink_to(tmp_path / "elsewhere")
    beginning = (await workspaces.begin(parent, "task_2")).unwrap()
    async with workspaces.clone(beginning) as clone:
        here = clone.unwrap().directory
        assert (here / "folder").readlink() == tmp_path / "elsewhere"
        names = [{one.name for one in each.iterdir()} - {".git", "pipe"} for each in (here, parent)]
        assert names[0] == names[1]


async def test_processes_that_die_at_once_cost_time_and_no_file(env, parent, monkeypatch):
    for number in range(400):
        write(parent, **{f"{number:0>200}": f"{number}\n"})
    workspaces = workspaces_of(env).unwrap()
    monkeypatch.setattr(sys, "executable", "/bin/false")
    beginning = (await workspaces.begin(parent, "task_1")).unwrap()
    async with workspaces.clone(beginning) as clone:
        assert files(clone.unwrap().directory) == files(parent)


DYING = """#!%s
import os, runpy, sys
sys.argv[:3] = []
sys.stdout = open(os.devnull, "w")
runpy.run_path(sys.argv[0], run_name="__main__")
sys.exit(1)
"""


async def test_a_process_that_dies_with_its_files_made_costs_none(env, parent, tmp_path, monkeypatch):
    monkeypatch.setattr(packed_files, "SETTLED_NS", 0)
    workspaces = workspaces_of(env).unwrap()
    (await workspaces.begin(parent, "task_1")).unwrap()
    beginning = (await workspaces.begin(parent, "task_2")).unwrap()
    dying = tmp_path / "dying"
    dying.write_text(DYING % sys.executable)
    dying.chmod(0o755)
    monkeypatch.setattr(sys, "executable", f"{dying}")
    async with workspaces.clone(beginning) as clone:
        assert files(clone.unwrap().directory) == files(parent)


async def test_a_copy_whose_work_cannot_be_kept_is_left_and_the_error_names_it(parent, tmp_path):
    env = environment(tmp_path, has_git=False)
    workspaces = workspaces_of(env).unwrap()
    beginning = (await workspaces.begin(parent, "task_1")).unwrap()
    async with workspaces.clone(beginning) as clone:
        write(clone.unwrap().directory, a="by the task\n")
        for refs in tmp_path.glob("cache/*/workspaces/copies/*/refs"):
            shutil.rmtree(refs)
            refs.touch()
        error = (await workspaces.keep_clone(beginning, clone.unwrap())).unwrap_err()
    (left,) = tmp_path.glob("cache/*/workspaces/unkept/*")
    assert error.advice == f"The files are left in '{left}'."
    assert (left / "a").read_text() == "by the task\n"


async def test_what_changed_beside_a_task_that_did_nothing_is_named_though_another_process_has_begun(env, parent):
    mine, others = workspaces_of(env).unwrap(), workspaces_of(env).unwrap()
    beginning = (await mine.begin(parent, "task_1")).unwrap()
    async with mine.clone(beginning) as clone:
        assert (await mine.keep_clone(beginning, clone.unwrap())).unwrap() is None
        write(parent, b="by the user\n")
        (await others.begin(parent, "task_2")).unwrap()
        assert await mine.changed(beginning) == ["b"]


async def test_more_than_is_copied_is_refused_before_anything_is_written(env, parent, tmp_path):
    workspaces = workspaces_of(env).unwrap()
    beginning = (await workspaces.begin(parent, "task_1")).unwrap()
    async with workspaces.clone(beginning) as clone:
        kept = {one: one.stat().st_size for one in tmp_path.glob("cache/*/workspaces/*/**/*.pack")}
        for directory in (parent, clone.unwrap().directory):
            (directory / "huge").touch()
            os.truncate(directory / "huge", 2**31 + 1)
        refused = (await workspaces.begin(parent, "task_2")).unwrap_err()
        left = (await workspaces.keep_clone(beginning, clone.unwrap())).unwrap_err()
    assert {one: one.stat().st_size for one in tmp_path.glob("cache/*/workspaces/*/**/*.pack")} == kept
    assert f"'{parent}' has 2.0 GiB in files" in refused.message
    assert "at most 2 GiB are copied." in refused.message
    assert "at most 2 GiB are copied." in left.message
    assert "are left in" in left.advice


def test_a_file_that_has_grown_beyond_what_a_pack_can_name_is_not_read(tmp_path):
    (tmp_path / "grown").touch()
    os.truncate(tmp_path / "grown", 2**32)
    packs = tmp_path / "packs"
    packs.mkdir()
    with pytest.raises(OSError, match="too large"):
        packing.pack_part(f"{tmp_path}", f"{packs}", ["grown"])
    assert [*packs.iterdir()] == []
