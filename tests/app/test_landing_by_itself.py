"""`land: "clean"`: what a task did in its clone comes to the files of its parent once it has succeeded."""

import os

import anyio
import pytest
from acting import ActingBackend
from git_trees import fingerprint, git, repository, write

from ohm_subagents import ErrorCode, Ohm
from ohm_subagents.plugin import Err, OhmError
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio
LANDS = {"isolation": "clone", "land": "clean"}


@pytest.fixture
def anyio_backend():
    """In real time, in which git runs."""
    return "asyncio"


@pytest.fixture
def parent(tmp_path):
    return repository(tmp_path / "parent", a="one\n", b="two\n")


def opened(tmp_path, parent, act, subagents=None):
    env = {**HERMETIC, "PATH": os.environ["PATH"], "XDG_CACHE_HOME": f"{tmp_path / 'cache'}"}
    env |= {"PI_CONFIG_DIR": f"{tmp_path / 'config'}"}
    config = {"subagentBackend": "acting", "subagents": subagents or {}}
    return Ohm.open(cwd=parent, env=env, config=config, plugins=[ActingBackend(act)])


async def writing(request, _sink):
    (request.cwd / "a").write_text(f"{request.prompt}\n")
    return "done"


async def test_the_work_of_a_task_that_succeeded_lands_and_the_envelope_says_so(tmp_path, parent):
    async with opened(tmp_path, parent, writing) as ohm:
        envelope = (await ohm.run("finder", "mine", **LANDS)).unwrap()
        again = (await ohm.land(envelope.task_id)).unwrap_err()
    assert (envelope.status, envelope.workspace.landed) == ("succeeded", "clean")
    assert (parent / "a").read_text() == "mine\n"
    assert git(parent, "status", "--porcelain") == "M a"
    assert again.code == ErrorCode.NOTHING_TO_LAND
    assert ohm.task(envelope.task_id).launch.land == "clean"


async def test_a_conflict_leaves_the_files_as_they_are_is_named_and_takes_no_answer_away(tmp_path, parent):
    async def act(request, sink):
        write(parent, a="by the user\n")
        return await writing(request, sink)

    async with opened(tmp_path, parent, act) as ohm:
        envelope = (await ohm.run("finder", "mine", **LANDS)).unwrap()
    work = envelope.workspace
    assert (envelope.status, envelope.output) == ("succeeded", "done")
    assert (work.landed, work.conflicts) == ("conflict", ["a line 1: both have changed it"])
    assert (parent / "a").read_text() == "by the user\n"
    assert git(parent, "show", f"{work.ref}:a") == "mine"


@pytest.mark.parametrize(
    ("subagents", "asked", "landed"),
    [
        ({}, None, "no"),
        ({"land": "clean"}, None, "clean"),
        ({"land": "clean"}, "never", "no"),
        ({"land": "never"}, "clean", "no"),
        ({"land": "never", "finder": {"land": "clean"}}, None, "clean"),
        ({"land": "clean", "finder": {"land": "never"}}, "clean", "no"),
        ({"finder": {"land": "never"}}, "clean", "no"),
        ({"land": "claen"}, "clean", "no"),
        ({"finder": {"lnad": "never"}}, "clean", "no"),
        ({"finder": {"land": None}}, "clean", "clean"),
    ],
)
async def test_a_call_lands_its_work_unless_ohm_json_forbids_it(tmp_path, parent, subagents, asked, landed):
    async with opened(tmp_path, parent, writing, subagents) as ohm:
        envelope = (await ohm.run("finder", "mine", isolation="clone", land=asked)).unwrap()
    assert envelope.workspace.landed == landed
    assert ("land 'clean' has no effect" in f"{envelope.diagnostics}") == (asked == "clean" and landed == "no")


@pytest.mark.parametrize(("said", "asked", "landed"), [("clean", None, "clean"), ("never", "clean", "no")])
async def test_a_profile_lands_its_work_or_forbids_it(tmp_path, parent, said, asked, landed):
    folder = tmp_path / "config" / "subagents"
    folder.mkdir(parents=True)
    (folder / "worker.md").write_text(f"---\nid: worker\nsummary: S\nisolation: clone\nland: {said}\n---\nWork.\n")
    async with opened(tmp_path, parent, writing) as ohm:
        envelope = (await ohm.run("worker", "mine", land=asked)).unwrap()
    assert envelope.workspace.landed == landed


async def test_the_tool_takes_land_for_one_task_and_for_each_of_several(tmp_path, parent):
    one = {"subagent_type": "finder", "description": "d", **LANDS}
    async with opened(tmp_path, parent, writing) as ohm:
        single = await ohm.call("task", {"op": "start", **one, "prompt": "mine"})
        both = [{**one, "prompt": "same"}, {**one, "prompt": "same"}]
        several = await ohm.call("task", {"op": "start", "tasks": both, "parallel": True})
        wrong = await ohm.call("task", {"op": "start", **one, "prompt": "p", "land": "always"})
        outside = await ohm.call("task", {"op": "start", "tasks": both, "land": "never"})
    assert single.details["workspace"]["landed"] == "clean"
    assert [item["workspace"]["landed"] for item in several.details["items"]] == ["clean", "clean"]
    assert "never or clean" in wrong.text
    assert "nothing is started without it" in outside.text


@pytest.mark.parametrize("ending", ["fail", "wait"])
async def test_the_work_of_a_task_that_failed_or_was_cancelled_stays_where_it_is(tmp_path, parent, ending):
    begun = anyio.Event()

    async def act(request, sink):
        await writing(request, sink)
        begun.set()
        if ending == "wait":
            await anyio.sleep_forever()
        return Err(OhmError(code=ErrorCode.BACKEND_FAILED, message="It failed."))

    before = fingerprint(parent)
    async with opened(tmp_path, parent, act) as ohm:
        handle = await ohm.start("finder", "mine", **LANDS)
        await begun.wait()
        if ending == "wait":
            await handle.cancel()
        await handle.wait()
    assert (parent / "a").read_text() == "one\n"
    assert fingerprint(parent) == before
    assert git(parent, "show", f"refs/ohm/{handle.id}:a") == "mine"


@pytest.mark.parametrize(("require", "landed"), [(True, "no"), (False, "clean")])
async def test_work_that_did_not_pass_the_checks_that_it_has_to_pass_never_lands(tmp_path, parent, require, landed):
    accept = {"checks": ["file: missing.md"], "require": require}
    async with opened(tmp_path, parent, writing) as ohm:
        result = await ohm.run("finder", "mine", accept=accept, **LANDS)
        task_id = result.err().task_id if require else result.unwrap().task_id
        workspace = ohm.envelope(task_id).workspace
    assert workspace.landed == landed


async def test_a_follow_up_and_a_resumed_task_land_what_they_have_added(tmp_path, parent):
    begun, may_end = anyio.Event(), anyio.Event()

    async def act(request, _sink):
        if request.prompt != "nothing":
            with (request.cwd / "a").open("a") as file:
                file.write(f"{request.prompt}\n")
        begun.set()
        await may_end.wait()
        return "done"

    async with opened(tmp_path, parent, act, {"sendToFinished": "resume"}) as ohm, anyio.create_task_group() as group:
        first = await ohm.start("finder", "first", **LANDS)
        await begun.wait()
        group.start_soon(first.send, "second")
        group.start_soon(first.send, "nothing")
        may_end.set()
        landed = (await first.wait()).unwrap()
        third = (await first.send("third")).unwrap()
    assert landed.workspace.landed == third.workspace.landed == "clean"
    assert landed.diagnostics is None
    assert (parent / "a").read_text() == "one\nfirst\nsecond\nthird\n"


async def test_a_subagent_lands_nothing(tmp_path, parent):
    async def act(request, sink):
        if request.prompt == "inner":
            return await writing(request, sink)
        inner = (await ohm.run("finder", "inner", **LANDS)).unwrap()
        assert "or a subagent asks for it" in f"{inner.diagnostics}"
        return inner.workspace.landed

    async with opened(tmp_path, parent, act, {"budget": {"depth": 3}}) as ohm:
        outer = (await ohm.run("task", "outer")).unwrap()
    assert outer.output == "no"
    assert (parent / "a").read_text() == "one\n"


async def test_without_a_clone_there_is_nothing_to_land_and_that_is_said(tmp_path, parent):
    async with opened(tmp_path, parent, writing) as ohm:
        envelope = (await ohm.run("finder", "mine", land="clean")).unwrap()
        with pytest.raises(TypeError, match="land is 'always'; allowed: 'never' or 'clean'"):
            await ohm.run("finder", "mine", land="always")
    assert "without a clone" in f"{envelope.diagnostics}"


async def test_work_that_cannot_land_is_told_and_takes_no_answer_away(tmp_path, parent):
    async def act(request, sink):
        write(parent, **{".gitignore": "d\n"})
        write(parent, d="of the user\n")
        write(request.cwd, d="of the task\n")
        return await writing(request, sink)

    async with opened(tmp_path, parent, act) as ohm:
        envelope = (await ohm.run("finder", "mine", **LANDS)).unwrap()
    assert (envelope.status, envelope.workspace.landed) == ("succeeded", "conflict")
    assert (parent / "d").read_text() == "of the user\n"
