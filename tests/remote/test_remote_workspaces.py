"""Files that travel to a runner as a bundle, and what is done to them there, which comes back as a reference."""

import os
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import pytest
from acting import ActingBackend
from git_trees import fingerprint, git, repository, write
from remote_backends import HASTY, Remotely

from ohm_subagents import ErrorCode, Ohm
from ohm_subagents.contract import TextDelta, WorkspaceKept
from ohm_subagents.contract.wire import Workspace
from ohm_subagents.plugin import Err, Ok, Options
from ohm_subagents.remote import LoopbackTransport, Patience, RunnerWorkspaces, open_remote, open_runner
from ohm_subagents.testing import HERMETIC, EventLog, KeptFeed, Scenarios
from ohm_subagents.testing.scenarios import request_for
from ohm_subagents.testing.trial import Recorder
from ohm_subagents.workspaces import GitWorkspaces

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", pytest.param("trio", marks=pytest.mark.slow)])
def anyio_backend(request):
    """In real time, in which git runs."""
    return request.param


@pytest.fixture
def parent(tmp_path):
    made = repository(tmp_path / "parent", a="one\n", b="two\n")
    write(made, a="changed\n", c="untracked\n")
    return made


@asynccontextmanager
async def elsewhere(tmp_path, act, *more, subagents=None):
    """An `Ohm` whose backend runs at a runner with files of its own."""
    there = {"PATH": os.environ["PATH"], "HOME": f"{tmp_path / 'runner'}"}
    clones = GitWorkspaces(tmp_path / "submitter", {"PATH": os.environ["PATH"]})
    plugin = Remotely(ActingBackend(act), clones=clones, env=there)
    settings = {"subagentBackend": "acting", "subagents": subagents or {}}
    async with Ohm.open(env=HERMETIC, config=settings, plugins=[plugin, *more]) as ohm:
        yield ohm


def left(tmp_path):
    """The clones that are still there, on both sides."""
    return [*(tmp_path / "runner").rglob("clones/*"), *(tmp_path / "submitter").rglob("clones/*")]


async def test_a_child_edits_its_clone_and_the_parent_finds_the_work(tmp_path, parent):
    before = fingerprint(parent)

    async def act(request, _sink):
        assert request.cwd != parent
        if request.prompt == "Say it":
            return "I said it."
        (request.cwd / "a").write_text("changed\nat the runner\n")
        (request.cwd / "b").unlink()
        return "I did it."

    async with elsewhere(tmp_path, act) as ohm:
        envelope = (await ohm.run("finder", "Do it", cwd=f"{parent}")).unwrap()
        unchanged = (await ohm.run("finder", "Say it", cwd=f"{parent}")).unwrap()
    ref = f"refs/ohm/{envelope.task_id}"
    kept = envelope.workspace
    assert (kept.ref, kept.base) == (ref, git(parent, "rev-parse", f"{ref}.base"))
    assert (kept.files, kept.insertions, kept.deletions, kept.landed) == (2, 1, 1, "no")
    assert "workspace" not in unchanged.model_dump(exclude_none=True)
    assert git(parent, "show", f"{ref}:a") == "changed\nat the runner"
    assert git(parent, "diff", "--name-status", f"{ref}.base", ref).split() == ["M", "a", "D", "b"]
    assert fingerprint(parent) == before
    assert left(tmp_path) == []


async def test_a_run_that_is_cancelled_keeps_what_it_did_and_one_that_did_nothing_leaves_nothing(tmp_path, parent):
    log = EventLog()

    async def act(request, sink):
        if request.prompt == "Nothing":
            return "Nothing is done."
        (request.cwd / "a").write_text("half of it\n")
        sink.emit(TextDelta(text="on"))
        return await anyio.sleep_forever()

    async with elsewhere(tmp_path, act, log) as ohm:
        (await ohm.run("finder", "Nothing", cwd=f"{parent}")).unwrap()
        assert git(parent, "for-each-ref", "refs/ohm") == ""
        handle = await ohm.start("finder", "Do it", cwd=f"{parent}")
        await log.until(lambda _task, event: isinstance(event, TextDelta))
        await handle.cancel()
    assert git(parent, "show", f"refs/ohm/{handle.id}:a") == "half of it"
    assert left(tmp_path) == []


@pytest.mark.slow
async def test_an_answer_whose_work_cannot_be_kept_is_a_failure_that_says_why(tmp_path, parent, monkeypatch):
    async def act(request, _sink):
        (request.cwd / "large").write_bytes(os.urandom(2000))
        return "I did it."

    async with elsewhere(tmp_path, act) as ohm:
        monkeypatch.setattr("ohm_subagents.remote.workspaces.MAX_BUNDLE", 1500)
        error = (await ohm.run("finder", "Do it", cwd=f"{parent}")).unwrap_err()
        assert error.code == ErrorCode.WORKSPACE_FAILED
        assert error.message == "What the run did is 0 MiB as a bundle; at most 0 MiB travel."


class Slowly:
    """Workspaces of a runner whose work takes its time."""

    def __init__(self, env):
        self.inner = RunnerWorkspaces(env)
        self.may_end = anyio.Event()
        self.began = anyio.Event()

    @asynccontextmanager
    async def opened(self, workspace):
        async with self.inner.opened(workspace) as clone:
            self.clone = clone.unwrap()
            yield Ok(self)

    @property
    def directory(self):
        return self.clone.directory

    async def work(self):
        self.began.set()
        await self.may_end.wait()
        return await self.clone.work()


async def cancelled_with_slow_work(tmp_path, parent, work_s):
    """Cancel a run whose work takes longer than a run has to end, and return what is told of it."""
    there = {"PATH": os.environ["PATH"], "HOME": f"{tmp_path / 'runner'}"}
    slowly, sink, scope, began = Slowly(there), Recorder(), anyio.CancelScope(), anyio.Event()

    async def act(request, _sink):
        (request.cwd / "a").write_text("half of it\n")
        began.set()
        await anyio.sleep_forever()

    async def begin(backend):
        with scope:
            await backend.run(request_for("Do it", Scenarios(cwd=parent)), sink)
        slowly.may_end.set()

    (spec,) = ActingBackend(act).ohm_backends()
    clones = GitWorkspaces(tmp_path / "submitter", {"PATH": os.environ["PATH"]})
    async with open_runner(spec, Options(), env=there, workspaces=slowly) as runner:
        wire = LoopbackTransport(runner)
        async with (
            open_remote(wire, patience=Patience(retry_s=0, cancel_s=0.05), clones=clones) as backend,
            anyio.create_task_group() as group,
        ):
            group.start_soon(begin, backend)
            await began.wait()
            scope.cancel()
            await slowly.began.wait()
            await anyio.sleep(work_s)
            slowly.may_end.set()
    return sink.events


async def test_a_cancelled_run_whose_bundle_takes_its_time_is_waited_for(tmp_path, parent):
    [kept] = await cancelled_with_slow_work(tmp_path, parent, 0.2)
    assert git(parent, "show", f"{kept.ref}:a") == "half of it"


@pytest.mark.slow
async def test_work_that_a_runner_never_tells_of_is_told_as_lost(tmp_path, parent, monkeypatch):
    monkeypatch.setattr("ohm_subagents.remote.workspaces.BUNDLE_S", 0.05)
    [told] = await cancelled_with_slow_work(tmp_path, parent, 0.4)
    lost = "The runner has not said in time what the run did to its files, and that is lost."
    assert told.diagnostic.message == lost


@pytest.mark.slow
async def test_files_that_are_too_many_are_refused_and_nothing_is_left(tmp_path, parent, monkeypatch):
    async def act(_request, _sink):
        raise AssertionError

    async with elsewhere(tmp_path, act) as ohm:
        monkeypatch.setattr("ohm_subagents.remote.workspaces.MAX_BUNDLE", 100)
        error = (await ohm.run("finder", "Do it", cwd=f"{parent}")).unwrap_err()
    assert error.message == f"The files of '{parent}' are 0 MiB as a bundle; at most 0 MiB travel to a runner."
    assert git(parent, "for-each-ref", "refs/ohm") == ""


async def test_the_next_submitter_of_a_run_keeps_what_it_did(tmp_path, parent):
    goes_on, began, left = anyio.Event(), anyio.Event(), anyio.CancelScope()
    here, there = {"PATH": os.environ["PATH"]}, {"PATH": os.environ["PATH"], "HOME": f"{tmp_path / 'runner'}"}

    async def act(request, _sink):
        (request.cwd / "a").write_text("one\n")
        began.set()
        await goes_on.wait()
        (request.cwd / "b").write_text("changed meanwhile\n")
        return "I did it."

    def submitter():
        clones = GitWorkspaces(tmp_path / "submitter", here)
        return open_remote(LoopbackTransport(runner), patience=HASTY, clones=clones)

    async def begin():
        async with submitter() as backend:
            with left:
                await backend.run(request, Recorder())

    (spec,) = ActingBackend(act).ohm_backends()
    request = replace(request_for("Do it", Scenarios(cwd=parent)), feed=KeptFeed())
    async with open_runner(spec, Options(), env=there) as runner, anyio.create_task_group() as group:
        group.start_soon(begin)
        await began.wait()
        left.cancel()
        goes_on.set()
        async with submitter() as backend:
            sink = Recorder()
            assert (await backend.attach(request, sink)).unwrap().text == "I did it."
    [kept] = [event for event in sink.events if isinstance(event, WorkspaceKept)]
    assert git(parent, "diff", "--name-only", kept.base, kept.ref).split() == ["a", "b"]


async def test_a_directory_that_cannot_travel_is_refused_before_anything_is_begun(tmp_path):
    bare = tmp_path / "bare"
    bare.mkdir()
    git(bare, "init", "-q", "--bare")

    async def act(_request, _sink):
        raise AssertionError

    async with elsewhere(tmp_path, act) as ohm:
        error = (await ohm.run("finder", "Do it", cwd=f"{bare}")).unwrap_err()
    assert error.code == ErrorCode.WORKSPACE_FAILED
    assert "is a bare repository" in error.message


async def test_a_bundle_that_is_none_is_one_sentence(tmp_path):
    workspaces = RunnerWorkspaces({"PATH": os.environ["PATH"], "HOME": f"{tmp_path}"})
    for bundle, why in (("?", "is not written in base64"), ("UEs=", "does not look like a v2 or v3 bundle file")):
        async with workspaces.opened(Workspace(path="/", kind="bundle", bundle=bundle)) as opened:
            assert isinstance(opened, Err)
            assert why in opened.err_value.message


@pytest.mark.parametrize("within", ["", "sub"])
async def test_the_rules_of_the_parent_hold_in_a_clone(tmp_path, parent, within):
    for name in ("secret", "sub"):
        (parent / name).mkdir()
        write(parent / name, key="mine\n")
    up = "../" if within else ""
    rules = {
        "allow": [f"read: {up}**", "edit", "bash"],
        "deny": [f"read: {up}secret/**"],
        "ask": [f"edit: {up}a", "bash: @outside"],
    }
    refused, passed = {}, []

    async def act(request, _sink):
        here = request.cwd.parent if within else request.cwd
        (here / "way").symlink_to("secret")
        calls = {
            "inside": ("read", {"path": f"{here}/sub/key"}),
            "denied": ("read", {"path": f"{here}/secret/key"}),
            "by a new link": ("read", {"path": f"{here}/way/key"}),
            "the parent's": ("read", {"path": f"{parent}/sub/key"}),
            "asked": ("edit", {"path": f"{here}/a"}),
            "free": ("edit", {"path": f"{here}/b"}),
            "shell inside": ("bash", {"command": f"touch {request.cwd}/new"}),
            "shell in the parent's": ("bash", {"command": f"touch {parent}/sub/new"}),
        }
        for name, (tool, arguments) in calls.items():
            refused[name] = await request.gate.tool(tool, arguments) is not None
        passed.append(request.passes)
        return "done"

    settings = {"finder": {"tools": rules}, "requests": {"unattended": "deny"}}
    async with elsewhere(tmp_path, act, subagents=settings) as ohm:
        (await ohm.run("finder", "Do it", cwd=f"{parent / within}")).unwrap()
    assert [name for name, is_refused in refused.items() if not is_refused] == ["inside", "free", "shell inside"]
    assert all(one.clones for one in passed[0].own.call_rules)
