"""`cloneIncludes`: ignored files that are listed are in a clone, and no part of its work."""

import json
import os

import pytest
from acting import ActingBackend
from git_trees import fingerprint, git, repository, write

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio
LISTED = ["a.env", "local", "packages", "**/*.deep"]


@pytest.fixture
def anyio_backend():
    """In real time, in which git runs."""
    return "asyncio"


@pytest.fixture
def parent(tmp_path):
    made = repository(tmp_path / "parent", a="one\n", _gitignore="*.env\npackages\n*.deep\nlink\n")
    (made / ".git" / "info" / "exclude").write_text("local\n")
    write(made, a_env="first", b_env="second", local="mine")
    (made / "a.env").write_text("first")
    tool = made / "packages" / "bin" / "tool"
    (tool.parent / "more").mkdir(parents=True)
    tool.write_text("#!/bin/sh")
    tool.chmod(0o755)
    (tool.parent / "more" / "x.deep").write_text("deep")
    (made / "packages" / "tool").symlink_to("bin/tool")
    repository(made / "packages" / "nested", own="of another repository\n")
    os.mkfifo(made / "packages" / "pipe")
    return made


def opened(tmp_path, parent, act, **more):
    env = {**HERMETIC, "PATH": os.environ["PATH"], "XDG_CACHE_HOME": f"{tmp_path / 'cache'}"}
    config = {"subagentBackend": "acting", "subagents": {"isolation": "clone", "cloneIncludes": LISTED, **more}}
    return Ohm.open(cwd=parent, env=env, config=config, plugins=[ActingBackend(act)])


def files(directory):
    found = (one.relative_to(directory) for one in directory.rglob("*") if one.is_symlink() or not one.is_dir())
    return {f"{one}" for one in found if one.parts[0] != ".git"}


async def test_they_are_there_as_they_are_and_what_is_done_to_them_is_not_kept(tmp_path, parent):
    seen, before = {}, fingerprint(parent)

    async def act(request, _sink):
        here = request.cwd
        seen.update(files=files(here), status=git(here, "status", "--porcelain"))
        seen.update(mode=(here / "packages/bin/tool").stat().st_mode & 0o777, link=(here / "packages/tool").readlink())
        write(here, a="changed\n", local="changed")
        (here / "packages" / "new").write_text("new")
        return "done"

    async with opened(tmp_path, parent, act) as ohm:
        envelope = (await ohm.run("finder", "p")).unwrap()
    there = {"a", ".gitignore", "a.env", "local", "packages/bin/tool", "packages/bin/more/x.deep", "packages/tool"}
    assert seen == {"files": there, "status": "", "mode": 0o755, "link": (parent / "packages/tool").readlink()}
    assert git(parent, "diff", "--name-only", f"{envelope.workspace.ref}.base", envelope.workspace.ref) == "a"
    assert fingerprint(parent) == before


async def test_what_a_task_put_in_their_way_stays_and_no_link_of_it_is_followed(tmp_path, parent):
    outside = tmp_path / "outside"
    outside.mkdir()
    seen = []

    async def act(request, _sink):
        seen.append(files(request.cwd))
        if len(seen) == 2:
            return "done"
        (request.cwd / ".gitignore").write_text("")
        (request.cwd / "a.env").write_text("mine now")
        (request.cwd / "packages").rename(tmp_path / "moved")
        (request.cwd / "packages").symlink_to(outside)
        return "done"

    async with opened(tmp_path, parent, act, sendToFinished="resume") as ohm:
        first = (await ohm.run("finder", "p")).unwrap()
        (await ohm.handle(first.task_id).send("q")).unwrap()
    assert [*outside.iterdir()] == []
    assert "packages/bin/tool" not in seen[1]
    assert git(parent, "show", f"refs/ohm/{first.task_id}:a.env") == "mine now"


async def test_a_pattern_that_leads_out_is_refused_in_a_sentence():
    listed = ["a", "../x", "/etc", "b/../../c", "~/d"]
    async with Ohm.open(env=HERMETIC, config={"subagents": {"cloneIncludes": listed}}) as ohm:
        told = [f"{one}" for one in ohm.diagnostics]
        assert ohm.config.subagents.clone_includes == ("a",)
    assert len(told) == 4
    assert all("has to be a path or a pattern below the top of the repository; it is ignored" in one for one in told)


async def test_a_project_lists_files_once_it_is_trusted(tmp_path, parent):
    (parent / ".pi").mkdir()
    (parent / ".pi" / "ohm.json").write_text(json.dumps({"subagents": {"cloneIncludes": ["b.env"]}}))
    async with Ohm.open(cwd=parent, env={**HERMETIC, "PI_CONFIG_DIR": f"{tmp_path / 'user'}"}) as ohm:
        assert ohm.config.subagents.clone_includes == ()
        assert "a project that is not trusted only tightens" in f"{ohm.diagnostics}"
