"""Repositories of every kind are cloned with all their files, or refused in a sentence; the parent stays as it was."""

import os
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest
from acting import ActingBackend
from git_trees import copied, fingerprint, git, repository, trapped, write

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC
from ohm_subagents.workspaces import GitWorkspaces, block_sharing

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@pytest.fixture
def anyio_backend():
    return "asyncio"


def plain(parent):
    return {"a"}


def detached(parent):
    git(parent, "checkout", "-q", "--detach")
    return {"a"}


def unborn(parent):
    git(parent, "checkout", "-q", "--orphan", "new")
    return {"a"}


def submodule(parent):
    other = repository(parent.with_name("other"), deep="of the other\n")
    git(parent, "-c", "protocol.file.allow=always", "submodule", "add", "-q", f"{other}", "sub")
    write(parent / "sub", new="untracked there\n")
    return {"a", ".gitmodules", "sub/deep", "sub/new"}


def unfetched_submodule(parent):
    submodule(parent)
    git(parent, "commit", "-qam", "sub")
    git(parent, "submodule", "deinit", "-q", "-f", "sub")
    return {"a", ".gitmodules"}


def nested(parent):
    repository(parent / "inner", b="inside\n")
    repository(parent / "inner" / "most", c="further inside\n")
    write(parent / "inner", _gitignore="*.log\n", d_log="ignored there\n")
    return {"a", "inner/b", "inner/.gitignore", "inner/most/c"}


def worktree(parent):
    git(parent, "worktree", "add", "-q", "-b", "side", f"{parent.with_name('side')}")
    write(parent.with_name("side"), b="of the side\n")
    return {"a", "b"}


def sparse(parent):
    for name in ("in", "out"):
        (parent / name).mkdir()
        write(parent / name, f="one\n")
    git(parent, "add", "-A")
    git(parent, "commit", "-qm", "two")
    git(parent, "sparse-checkout", "set", "in")
    return {"a", "in/f", "out/f"}


def large_file_pointer(parent):
    write(
        parent,
        big="version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n",
        _gitattributes="big filter=lfs\n",
    )
    git(parent, "-c", "filter.lfs.clean=cat", "add", "-A")
    return {"a", "big", ".gitattributes"}


def line_ends(parent):
    write(parent, _gitattributes="* text=auto eol=crlf\n", b="one\r\ntwo\r\n")
    git(parent, "add", "-A")
    git(parent, "commit", "-qm", "two")
    return {"a", "b", ".gitattributes"}


def odd_names(parent):
    for name in (b"\xff\xfe", b"new\nline", b"-x", b" ", b'"quoted"', "日本".encode()):
        (parent / os.fsdecode(name)).write_bytes(name)
    return {"a", os.fsdecode(b"\xff\xfe"), "new\nline", "-x", " ", '"quoted"', "日本"}


def links(parent):
    (parent / "out").symlink_to("/etc")
    (parent / "gone").symlink_to("nowhere")
    os.mkfifo(parent / "pipe")
    return {"a", "out", "gone"}


def unwatched(parent):
    git(parent, "update-index", "--assume-unchanged", "a")
    write(parent, a="changed\n")
    return {"a"}


def conflicted(parent):
    git(parent, "checkout", "-q", "-b", "side")
    write(parent, a="side\n")
    git(parent, "commit", "-qam", "side")
    git(parent, "checkout", "-q", "main")
    write(parent, a="main\n")
    git(parent, "commit", "-qam", "main")
    with pytest.raises(subprocess.CalledProcessError):
        git(parent, "merge", "-q", "side")
    return {"a"}


def replaced(parent):
    write(parent, b="a file\n")
    git(parent, "add", "b")
    (parent / "b").unlink()
    (parent / "b").mkdir()
    write(parent / "b", c="now a directory\n")
    return {"a", "b/c"}


def linked(parent):
    (parent / "d").mkdir()
    write(parent / "d", b="a file\n", c="another\n")
    git(parent, "add", "d")
    git(parent, "commit", "-qm", "two")
    (parent / "d").rename(parent.with_name("elsewhere"))
    (parent / "d").symlink_to("../elsewhere")
    return {"a", "d"}


def shallow(parent):
    git(parent, "commit", "-q", "--allow-empty", "-m", "two")
    git(parent.parent, "clone", "-q", "--depth=1", f"file://{parent}", "shallow")
    return {"a"}


def packed(parent):
    git(parent, "gc", "-q")
    git(parent, "pack-refs", "--all")
    git(parent, "update-index", "--split-index")
    return {"a"}


def sha256(parent):
    shutil.rmtree(parent)
    parent.mkdir()
    git(parent, "init", "-q", "--object-format=sha256", "-b", "main")
    write(parent, a="one\n")
    git(parent, "add", "a")
    git(parent, "commit", "-qm", "first")
    return {"a"}


KINDS = [
    *(plain, detached, unborn, submodule, unfetched_submodule, nested, worktree, sparse, large_file_pointer, line_ends),
    *(odd_names, links, unwatched, conflicted, replaced, linked, shallow, packed, sha256),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["bundle", "clone", "shared"])
async def test_a_clone_has_every_file_byte_by_byte_and_its_work_comes_back(tmp_path, monkeypatch, kind, way):
    parent = repository(tmp_path / "parent", a="one\n")
    expected = kind(parent)
    parent = {"worktree": tmp_path / "side", "shallow": tmp_path / "shallow"}.get(kind.__name__, parent)
    if way == "shared":
        monkeypatch.setattr(block_sharing, "share_blocks", copied)
    before = fingerprint(parent)
    workspaces = GitWorkspaces(tmp_path / "cache", {"PATH": os.environ["PATH"], "HOME": f"{tmp_path}"})
    beginning = (await workspaces.begin(parent, "task_1")).unwrap()
    opened = partial(workspaces.clone, beginning)
    if way == "bundle":
        opened = partial(workspaces.clone_of, (await workspaces.bundle(beginning)).unwrap(), beginning.within)
    async with opened() as clone:
        there = clone.unwrap().directory
        assert files(there).keys() == expected
        outside = {"out/f": b"one\n"} if kind is sparse else {}
        assert files(there) == {name: text for name, text in files(parent).items() if name in expected} | outside
        assert git(there, "status", "--porcelain") == ""
        write(there, a="changed by the child\n")
        done = (await clone.unwrap().work()).unwrap()
    work = (await workspaces.keep(parent, "task_1", done)).unwrap()
    assert work.files == 1
    assert git(parent, "show", "refs/ohm/task_1:a") == "changed by the child"
    assert fingerprint(parent) == before


def hostile(parent):
    trapped(parent, parent.parent / "canary")
    return {"a", ".gitattributes"}


@pytest.mark.parametrize(
    "kind", [hostile, detached, unborn, submodule, nested, worktree, sparse, odd_names, links, conflicted, sha256]
)
async def test_a_task_works_on_a_clone_of_any_repository_and_sees_nobody_change_the_parent(tmp_path, kind):
    parent = repository(tmp_path / "parent", a="one\n")
    expected = kind(parent)
    parent = tmp_path / "side" if kind is worktree else parent
    before, seen = fingerprint(parent), set()

    async def act(request, _sink):
        seen.update(files(request.cwd))
        write(request.cwd, a="changed by the child\n")
        return "done"

    env = {**HERMETIC, "PATH": os.environ["PATH"], "XDG_CACHE_HOME": f"{tmp_path / 'cache'}"}
    config = {"subagentBackend": "acting", "subagents": {"isolation": "clone"}}
    async with Ohm.open(cwd=parent, env=env, config=config, plugins=[ActingBackend(act)]) as ohm:
        envelope = (await ohm.run("finder", "p")).unwrap()
    assert (envelope.workspace.files, envelope.diagnostics) == (1, None)
    assert git(parent, "show", f"{envelope.workspace.ref}:a") == "changed by the child"
    assert seen == expected
    assert fingerprint(parent) == before
    assert not [*tmp_path.rglob("canary"), *tmp_path.rglob("clones/*")]


def files(directory):
    """The files of a working tree by name: bytes, or where a link leads."""
    found = {}
    for folder, folders, names in os.walk(directory):
        folders[:] = [one for one in folders if one != ".git" and not Path(folder, one).is_symlink()]
        for path in (
            Path(folder, name) for name in {*names, *(one.name for one in Path(folder).iterdir())} - {*folders, ".git"}
        ):
            if path.is_symlink() or path.is_file():
                found[f"{path.relative_to(directory)}"] = (
                    f"{path.readlink()}" if path.is_symlink() else path.read_bytes()
                )
    return found
