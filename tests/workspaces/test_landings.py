"""Landings: what a task did is made to the files of its parent, all of it or nothing, and nobody's work is lost."""

import errno
import os
import random
import signal

import anyio
import lander
import pytest
from forking import forked
from git_trees import fingerprint, git, repository, trapped, write

from ohm_subagents.workspaces import GitWorkspaces, Landings, ref_of

pytestmark = pytest.mark.anyio
ENV = {"PATH": os.environ["PATH"]}
ROUNDS = int(os.environ.get("OHM_LANDING_ROUNDS", "2"))
LINES = "".join(f"line {n}\n" for n in range(1, 21))


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def workspaces(tmp_path):
    return GitWorkspaces(tmp_path / "cache", ENV | {"HOME": f"{tmp_path}"})


@pytest.fixture
def landings(workspaces):
    return Landings(workspaces)


async def worked(workspaces, directory, act, task="task_1"):
    """Let `act` work in a clone, and keep what it did."""
    beginning = (await workspaces.begin(directory, task)).unwrap()
    async with workspaces.clone(beginning) as clone:
        act(clone.unwrap().directory)
        done = (await clone.unwrap().work()).unwrap()
    return (await workspaces.keep(directory, task, done)).unwrap()


def files(directory):
    """The files of a tree with their content, less those of git."""
    found = {}
    for path in sorted(directory.rglob("*")):
        inside = path.relative_to(directory)
        if ".git" in inside.parts or (path.is_dir() and not path.is_symlink()):
            continue
        is_run = not path.is_symlink() and bool(path.stat().st_mode & 0o100)
        found[f"{inside}"] = (f"{path.readlink()}" if path.is_symlink() else path.read_bytes(), is_run)
    return found


def saved(found):
    """Files of the parent beside which somebody has made others while they were taken out."""
    return {path: facts for path, facts in found.items() if path.endswith(".before-landing")}


def repository_of(parent):
    """The files of git in a parent, less ours."""
    return {path: facts for path, facts in fingerprint(parent).items() if ".git" in path.parts}


async def test_work_lands_among_what_the_user_has_not_committed_and_git_has_not_changed(workspaces, landings, tmp_path):
    parent = repository(tmp_path / "parent", a=LINES, b="two\n", c="three\n", _gitignore="*.log\n")
    write(parent, d="untracked\n", e_log="ignored\n")

    def act(clone):
        (clone / "a").write_text(LINES.replace("line 20", "by the task"))
        (clone / "b").unlink()
        (clone / "new" / "deep").mkdir(parents=True)
        write(clone / "new" / "deep", f="new\n")
        (clone / "link").symlink_to("/etc/passwd")
        (clone / "c").chmod(0o755)

    await worked(workspaces, parent, act)
    write(parent, a=LINES.replace("line 1\n", "by the user\n"))
    git(parent, "add", "a")
    before = repository_of(parent)
    landing = (await landings.land(parent, "task_1")).unwrap()
    assert (landing.landed, landing.files) == ("clean", ("a", "b", "c", "link", "new/deep/f"))
    assert files(parent) == {
        ".gitignore": (b"*.log\n", False),
        "a": (LINES.replace("line 1\n", "by the user\n").replace("line 20", "by the task").encode(), False),
        "c": (b"three\n", True),
        "d": (b"untracked\n", False),
        "e.log": (b"ignored\n", False),
        "link": ("/etc/passwd", False),
        "new/deep/f": (b"new\n", False),
    }
    assert repository_of(parent) == before
    again = (await landings.land(parent, "task_1")).unwrap_err()
    assert f"{again}" == "The changes of task 'task_1' have landed; there is nothing more to land."
    assert f"{(await landings.discard(parent, 'task_1')).unwrap_err()}" == (
        "The changes of task 'task_1' have landed, and are in the files of its directory. Take them back there."
    )


async def test_a_conflict_names_files_and_lines_and_changes_nothing(workspaces, landings, tmp_path):
    parent = repository(tmp_path / "parent", a=LINES, b="two\n", c="three\n", f="plain\n")

    def act(clone):
        text = LINES.replace("line 2\n", "a new line\nline 2\n").replace("line 10\n", "task\ntask\n")
        write(clone, a=text, b="by the task\n", n="new of the task\n", z="clean\n")
        (clone / "c").unlink()
        (clone / "f").unlink()
        (clone / "f").mkdir()
        write(clone / "f", g="in a folder\n")

    await worked(workspaces, parent, act)
    write(parent, a=LINES.replace("line 10\n", "user\n"), c="changed\n", n="new of the user\n", f="changed\n")
    (parent / "b").unlink()
    before = fingerprint(parent)
    landing = (await landings.land(parent, "task_1")).unwrap()
    assert landing.landed == "conflict"
    assert [f"{conflict}" for conflict in landing.conflicts] == [
        "a line 10: both have changed it",
        "b: it was removed there meanwhile, and the task has changed it",
        "c: the task has removed it, and it was changed there meanwhile",
        "f: the task has removed it, and it was changed there meanwhile",
        "n line 1: both have it, with different content",
    ]
    [hunk] = landing.conflicts[0].hunks
    assert (hunk.first, hunk.last, hunk.ours, hunk.theirs) == (10, 10, "user", "task\ntask")
    assert fingerprint(parent) == before


async def test_what_git_does_not_list_is_never_replaced_and_no_link_is_followed(workspaces, landings, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    parent = repository(tmp_path / "parent", _gitignore="ignored\nlinked\n")

    def act(clone):
        (clone / ".gitignore").unlink()
        write(clone, ignored="by the task\n", free="free\n")
        (clone / "linked").mkdir()
        write(clone / "linked", file="by the task\n")

    await worked(workspaces, parent, act)
    write(parent, ignored="precious\n")
    (parent / "linked").symlink_to(outside)
    before = fingerprint(parent)
    landing = (await landings.land(parent, "task_1")).unwrap()
    assert [f"{conflict}" for conflict in landing.conflicts] == [
        "ignored: something that git does not list is in its place",
        "linked/file: something that git does not list is in its place",
    ]
    assert fingerprint(parent) == before
    assert not list(outside.iterdir())


async def test_folders_become_files_and_files_become_folders_and_names_may_be_any_bytes(workspaces, landings, tmp_path):
    parent = repository(tmp_path / "parent", a="one\n")
    (parent / "folder" / "inner").mkdir(parents=True)
    write(parent / "folder" / "inner", x="x\n")
    odd = os.fsdecode(b"caf\xe9\n")

    def act(clone):
        (clone / "a").unlink()
        (clone / "a").mkdir()
        write(clone / "a", b="below\n")
        (clone / "folder" / "inner" / "x").unlink()
        (clone / "folder" / "inner").rmdir()
        (clone / "folder").rmdir()
        write(clone, folder="a file now\n")
        (clone / odd).write_text("odd\n")

    await worked(workspaces, parent, act)
    assert (await landings.land(parent, "task_1")).unwrap().landed == "clean"
    assert files(parent) == {
        "a/b": (b"below\n", False),
        odd: (b"odd\n", False),
        "folder": (b"a file now\n", False),
    }


async def test_a_file_keeps_its_rights_but_that_it_may_be_run_is_as_the_task_left_it(workspaces, landings, tmp_path):
    parent = repository(tmp_path / "parent", private="one\n", tool="one\n", text="one\n")
    for name, mode in (("private", 0o640), ("tool", 0o750), ("text", 0o640)):
        (parent / name).chmod(mode)

    def act(clone):
        write(clone, private="two\n")
        (clone / "tool").chmod(0o644)
        (clone / "text").chmod(0o755)

    await worked(workspaces, parent, act)
    assert (await landings.land(parent, "task_1")).unwrap().landed == "clean"
    modes = {name: (parent / name).stat().st_mode & 0o777 for name in ("private", "tool", "text")}
    assert modes == {"private": 0o640, "tool": 0o640, "text": 0o750}


async def test_no_setting_hook_or_filter_runs(workspaces, landings, tmp_path):
    canary = tmp_path / "canary"
    parent = repository(tmp_path / "parent", a="one\r\n")
    trapped(parent, canary)
    await worked(workspaces, parent, lambda clone: write(clone, a="two\r\n"))
    assert (await landings.land(parent, "task_1")).unwrap().landed == "clean"
    assert (parent / "a").read_bytes() == b"two\r\n"
    assert not canary.exists()


@pytest.mark.slow
async def test_what_a_task_did_after_it_landed_lands_too(workspaces, landings, tmp_path):
    parent = repository(tmp_path / "parent", a="one\n")
    await worked(workspaces, parent, lambda clone: write(clone, b="first\n"))
    (await landings.land(parent, "task_1")).unwrap()
    write(parent, b="first\n", c="by the user\n")
    await worked(workspaces, parent, lambda clone: write(clone, b="second\n"))
    landing = (await landings.land(parent, "task_1")).unwrap()
    assert landing.files == ("b",)
    assert (parent / "b").read_text() == "second\n"


async def test_after_a_discard_nothing_is_kept(workspaces, landings, tmp_path):
    parent = repository(tmp_path / "parent", a="one\n")
    await worked(workspaces, parent, lambda clone: write(clone, b="two\n"))
    before = fingerprint(parent)
    (await landings.discard(parent, "task_1")).unwrap()
    assert git(parent, "for-each-ref", "refs/ohm") == ""
    assert fingerprint(parent) == before
    for act in (landings.land, landings.discard):
        assert f"{(await act(parent, 'task_1')).unwrap_err()}" == (
            "Nothing is kept of task 'task_1' that could land: it has changed no files of its own."
        )


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["a", "new", "gone"])
@pytest.mark.parametrize("when", ["journal written", "file taken out", "file put in"])
async def test_a_file_that_somebody_changes_meanwhile_is_kept_and_nothing_lands(workspaces, tmp_path, name, when):
    parent = repository(tmp_path / "parent", a="one\n", gone="gone\n", z="last\n")

    def act(clone):
        write(clone, a="by the task\n", new="new\n", z="by the task\n")
        (clone / "gone").unlink()

    await worked(workspaces, parent, act)
    before = files(parent)
    steps = []

    def step(step):
        steps.append(step)
        if step == when and steps.count(step) == 1:
            (parent / name).write_text("by the user\n")

    landed = await Landings(workspaces, step=step).land(parent, "task_1")
    now = files(parent)
    assert now[name] == (b"by the user\n", False)
    if landed.is_err():
        assert f"{landed.unwrap_err()}" == (
            f"'{name}' was changed while the work was landing; nothing was changed by the landing. Land it again."
        )
        assert {**now, name: before.get(name)} == {name: None, **before, **saved(now)}
    else:
        assert when != "journal written"
    assert not (parent / ".git" / "ohm-landing").exists()


@pytest.mark.slow
async def test_a_landing_that_is_killed_at_any_step_is_made_or_taken_back_by_the_next_look(workspaces, tmp_path):
    before, after, n = None, None, 0
    while True:
        parent = repository(tmp_path / f"parent{n}", a="one\n", b="two\n", d="three\n")
        await worked(workspaces, parent, lander.act)
        before = files(parent)
        with forked(lander.__file__, parent, tmp_path / "cache", n) as process:
            said = process.stdout.read()
            code = process.wait()
        (await workspaces.diff(parent, "task_1")).unwrap()
        assert not (parent / ".git" / "ohm-landing").exists()
        after = after or {**before, **lander.AFTER}
        is_landed = git(parent, "for-each-ref", f"{ref_of('task_1')}.landed") != ""
        expected = {path: facts for path, facts in after.items() if facts} if is_landed else before
        assert files(parent) == expected, f"killed at step {n}"
        if code != -signal.SIGKILL:
            assert said == "clean\n"
            break
        if not is_landed:
            assert (await Landings(workspaces).land(parent, "task_1")).unwrap().landed == "clean"
        n += 1
    assert n > 8


@pytest.mark.slow
async def test_two_processes_land_one_after_the_other(workspaces, tmp_path):
    parent = repository(tmp_path / "parent", a=LINES)
    for n in (1, 2):
        text = LINES.replace(f"line {n}0\n", f"by task {n}\n")
        await worked(workspaces, parent, lambda clone, text=text: write(clone, a=text), f"task_{n}")
    words = (lander.__file__, parent, tmp_path / "cache", -1)
    with forked(*words, "task_1") as one, forked(*words, "task_2") as other:
        assert [one.stdout.read(), other.stdout.read()] == ["clean\n", "clean\n"]
    assert (parent / "a").read_text() == LINES.replace("line 10\n", "by task 1\n").replace("line 20\n", "by task 2\n")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(ROUNDS))
async def test_eight_children_land_as_if_they_had_worked_one_after_the_other_or_the_conflict_is_named(
    workspaces, landings, tmp_path, seed
):
    chance = random.Random(seed)
    names = ["a", "b", "c"]
    parent = repository(tmp_path / "parent", **dict.fromkeys(names, LINES))
    edits = [
        (chance.choice(names), chance.randrange(0, 20, 3), f"by task {n}\n" * chance.randint(0, 3)) for n in range(8)
    ]

    def act(clone, edit):
        name, at, text = edit
        lines = (clone / name).read_text().splitlines(keepends=True)
        lines[at] = text
        (clone / name).write_text("".join(lines))

    async def one(n):
        await worked(workspaces, parent, lambda clone: act(clone, edits[n]), f"task_{n}")

    async with anyio.create_task_group() as group:
        for n in range(8):
            group.start_soon(one, n)
    expected = {name: LINES.splitlines(keepends=True) for name in names}
    taken = {}
    for n in chance.sample(range(8), 8):
        name, at, text = edits[n]
        landing = (await landings.land(parent, f"task_{n}")).unwrap()
        if (name, at) in taken and taken[name, at] != text:
            assert [conflict.path for conflict in landing.conflicts] == [name]
        else:
            assert landing.conflicts == ()
            taken[name, at] = expected[name][at] = text
        assert {name: (parent / name).read_text() for name in names} == {
            name: "".join(lines) for name, lines in expected.items()
        }


@pytest.mark.slow
async def test_a_landing_that_fails_at_any_step_changes_nothing(workspaces, tmp_path):
    parent = repository(tmp_path / "parent", a="one\n", b="two\n", d="three\n")
    await worked(workspaces, parent, lander.act)
    before, steps = files(parent), []

    def step(name):
        if name != "recorded" and name not in steps:
            steps.append(name)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    landings = Landings(workspaces, step=step)
    while (landed := await landings.land(parent, "task_1")).is_err():
        assert "No space left on device" in landed.unwrap_err().message
        assert files(parent) == before
        assert not (parent / ".git" / "ohm-landing").exists()
    assert steps == ["merged", "staged", "journal written", "file taken out", "file put in", "all replaced"]
    assert files(parent) != before


async def test_a_landing_does_not_write_where_a_link_leads(workspaces, landings, tmp_path):
    parent = repository(tmp_path / "parent", a="one\n")
    await worked(workspaces, parent, lambda clone: write(clone, a="two\n"))
    place = parent / ".git" / "ohm-landing"
    place.symlink_to(tmp_path)
    error = (await landings.land(parent, "task_1")).unwrap_err()
    assert f"{error}" == f"'{place}' is a link, and leads out of the repository. Remove it."
    assert (parent / "a").read_text() == "one\n"
