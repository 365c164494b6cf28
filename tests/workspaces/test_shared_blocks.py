"""On a file system that shares blocks, a clone takes none for the files that its origin has unchanged."""

import os
from pathlib import Path

import pytest
from git_trees import copied, fingerprint, git, repository, write

from ohm_subagents.workspaces import GitWorkspaces, block_sharing, parts

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    """In real time, in which git runs."""
    return "asyncio"


async def test_what_is_unchanged_is_shared_and_git_writes_the_rest_and_knows_both(tmp_path, monkeypatch):
    parent = repository(tmp_path / "parent", kept="the same\n", changed="one\n", gone="away\n")
    (parent / "folder").mkdir()
    write(parent / "folder", run="#!/bin/sh\n")
    (parent / "folder" / "run").chmod(0o755)
    (parent / "link").symlink_to("kept")
    for name in ("kept", "changed", "gone", "folder/run"):
        os.utime(parent / name, (10**9, 10**9))
    git(parent, "add", "-A")
    git(parent, "commit", "-qm", "second")
    write(parent, changed="two\n", new="untracked\n")
    (parent / "gone").unlink()
    shared = []

    def share(source, target):
        shared.append(f"{Path(f'/proc/self/fd/{source}').readlink()}")
        copied(source, target)

    monkeypatch.setattr(block_sharing, "share_blocks", share)
    monkeypatch.setattr(parts, "SMALLEST_PART", 1)  # the second one is for another process, which has the real thing
    monkeypatch.setattr(parts, "PROCESSES", 8)
    before = fingerprint(parent)
    workspaces = GitWorkspaces(tmp_path / "cache", {"PATH": os.environ["PATH"], "HOME": f"{tmp_path}"})
    beginning = (await workspaces.begin(parent, "task_1")).unwrap()
    async with workspaces.clone(beginning) as clone:
        here = clone.unwrap().directory
        names = {"kept", "changed", "new", "folder", "link", ".git"}
        assert {one.name for one in here.iterdir()} == names
        assert shared[1:] == [f"{parent / 'folder/run'}"]  # the first one was to try it
        assert (here / "folder" / "run").stat().st_mode & 0o111
        assert (here / "changed").read_text() == "two\n"
        assert git(here, "diff-files", "--name-only") == ""
        write(here, kept="not same\n")
        assert git(here, "status", "--porcelain") == "M kept"
        work = (await workspaces.keep_clone(beginning, clone.unwrap())).unwrap()
    assert (work.files, work.insertions) == (1, 1)
    assert fingerprint(parent) == before
