"""`land: "clean"`: what a task did in its clone comes to the files of its parent once it has succeeded."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, cast

import anyio
import pytest
from acting import ActingBackend
from git_trees import fingerprint, git, repository, write

from ohm_subagents import Approve, Deny, ErrorCode, Ohm, RunOptions
from ohm_subagents.contract import AnswerAwaited
from ohm_subagents.plugin import Err, OhmError
from ohm_subagents.testing import HERMETIC

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from acting import Act, Answer

    from ohm_subagents.contract import Envelope, Request
    from ohm_subagents.contract.envelope_parts import WorkspaceBlock
    from ohm_subagents.contract.requests import Scope
    from ohm_subagents.plugin import RunRequest, Sink

pytestmark = pytest.mark.anyio
LANDS: RunOptions = {"isolation": "clone", "land": "clean"}


@pytest.fixture
def anyio_backend() -> str:
    """In real time, in which git runs."""
    return "asyncio"


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    return repository(tmp_path / "parent", a="one\n", b="two\n")


def opened(
    tmp_path: Path, parent: Path, act: Act, subagents: Mapping[str, Any] | None = None, entries: int = 100, **more: Any
) -> AbstractAsyncContextManager[Ohm]:
    env = {**HERMETIC, "PATH": os.environ["PATH"], "XDG_CACHE_HOME": f"{tmp_path / 'cache'}"}
    env |= {"PI_CONFIG_DIR": f"{tmp_path / 'config'}"}
    config = {"subagentBackend": "acting", "subagents": subagents or {}, "taskMaxEntries": entries}
    return Ohm.open(cwd=parent, env=env, config=config, plugins=[ActingBackend(act)], **more)


def kept(envelope: Envelope | None) -> WorkspaceBlock:
    assert envelope is not None
    assert envelope.workspace is not None
    return envelope.workspace


async def writing(request: RunRequest, _sink: Sink) -> Answer:
    (request.cwd / "a").write_text(f"{request.prompt}\n")
    return "done"


async def test_the_work_of_a_task_that_succeeded_lands_and_the_envelope_says_so(tmp_path: Path, parent: Path) -> None:
    async with opened(tmp_path, parent, writing) as ohm:
        envelope = (await ohm.run("finder", "mine", **LANDS)).unwrap()
        again = (await ohm.land(f"{envelope.task_id}")).unwrap_err()
    assert (envelope.status, kept(envelope).landed) == ("succeeded", "clean")
    assert (parent / "a").read_text() == "mine\n"
    assert git(parent, "status", "--porcelain") == "M a"
    assert again.code == ErrorCode.NOTHING_TO_LAND
    task = ohm.task(f"{envelope.task_id}")
    assert task is not None
    assert task.launch is not None
    assert task.launch.land == "clean"


async def test_a_conflict_leaves_the_files_as_they_are_is_named_and_takes_no_answer_away(
    tmp_path: Path, parent: Path
) -> None:
    async def act(request: RunRequest, sink: Sink) -> Answer:
        write(parent, a="by the user\n")
        return await writing(request, sink)

    async with opened(tmp_path, parent, act) as ohm:
        envelope = (await ohm.run("finder", "mine", **LANDS)).unwrap()
    work = kept(envelope)
    assert (envelope.status, envelope.output) == ("succeeded", "done")
    assert (work.landed, work.conflicts) == ("conflict", ["a line 1: both have changed it"])
    assert (parent / "a").read_text() == "by the user\n"
    assert git(parent, "show", f"{work.ref}:a") == "mine"


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("subagents", "asked", "landed"),
    [
        pytest.param({}, None, "no", marks=pytest.mark.slow),
        ({"land": "clean"}, None, "clean"),
        pytest.param({"land": "clean"}, "never", "no", marks=pytest.mark.slow),
        ({"land": "never"}, "clean", "no"),
        ({"land": "never", "finder": {"land": "clean"}}, None, "clean"),
        pytest.param({"land": "clean", "finder": {"land": "never"}}, "clean", "no", marks=pytest.mark.slow),
        pytest.param({"finder": {"land": "never"}}, "clean", "no", marks=pytest.mark.slow),
        ({"land": "claen"}, "clean", "no"),
        pytest.param({"finder": {"lnad": "never"}}, "clean", "no", marks=pytest.mark.slow),
        pytest.param({"finder": {"land": None}}, "clean", "clean", marks=pytest.mark.slow),
    ],
)
async def test_a_call_lands_its_work_unless_ohm_json_forbids_it(
    tmp_path: Path, parent: Path, subagents: dict[str, Any], asked: Any, landed: str
) -> None:
    async with opened(tmp_path, parent, writing, subagents) as ohm:
        envelope = (await ohm.run("finder", "mine", isolation="clone", land=asked)).unwrap()
    assert kept(envelope).landed == landed
    assert ("land 'clean' has no effect" in f"{envelope.diagnostics}") == (asked == "clean" and landed == "no")


@pytest.mark.parametrize(
    ("said", "asked", "landed"),
    [pytest.param("clean", None, "clean", marks=pytest.mark.slow), ("never", "clean", "no")],
)
async def test_a_profile_lands_its_work_or_forbids_it(
    tmp_path: Path, parent: Path, said: str, asked: Any, landed: str
) -> None:
    folder = tmp_path / "config" / "subagents"
    folder.mkdir(parents=True)
    (folder / "worker.md").write_text(f"---\nid: worker\nsummary: S\nisolation: clone\nland: {said}\n---\nWork.\n")
    async with opened(tmp_path, parent, writing) as ohm:
        envelope = (await ohm.run("worker", "mine", land=asked)).unwrap()
    assert kept(envelope).landed == landed


@pytest.mark.slow
async def test_the_tool_takes_land_for_one_task_and_for_each_of_several(tmp_path: Path, parent: Path) -> None:
    one = {"subagent_type": "finder", "description": "d", **LANDS}
    async with opened(tmp_path, parent, writing) as ohm:
        single = await ohm.call("task", {"op": "start", **one, "prompt": "mine"})
        both = [{**one, "prompt": "same"}, {**one, "prompt": "same"}]
        several = await ohm.call("task", {"op": "start", "tasks": both, "parallel": True})
        wrong = await ohm.call("task", {"op": "start", **one, "prompt": "p", "land": "always"})
        outside = await ohm.call("task", {"op": "start", "tasks": both, "land": "never"})
    told: list[Any] = [single.details, *cast("list[Any]", several.details["items"])]
    assert [item["workspace"]["landed"] for item in told] == ["clean", "clean", "clean"]
    assert "never or clean" in wrong.text
    assert "nothing is started without it" in outside.text


@pytest.mark.parametrize("ending", ["fail", "wait"])
async def test_the_work_of_a_task_that_failed_or_was_cancelled_stays_where_it_is(
    tmp_path: Path, parent: Path, ending: str
) -> None:
    begun = anyio.Event()

    async def act(request: RunRequest, sink: Sink) -> Answer:
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
async def test_work_that_did_not_pass_the_checks_that_it_has_to_pass_never_lands(
    tmp_path: Path, parent: Path, require: bool, landed: str
) -> None:
    checked: RunOptions = {**LANDS, "accept": {"checks": ["file: missing.md"], "require": require}}
    async with opened(tmp_path, parent, writing) as ohm:
        handle = await ohm.start("finder", "mine", **checked)
        await handle.wait()
        assert kept(ohm.envelope(f"{handle.id}")).landed == landed


@pytest.mark.slow
async def test_a_follow_up_and_a_resumed_task_land_what_they_have_added(tmp_path: Path, parent: Path) -> None:
    begun, may_end = anyio.Event(), anyio.Event()

    async def act(request: RunRequest, _sink: Sink) -> Answer:
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
        assert kept(landed).landed == kept(third).landed == "clean"
        assert landed.diagnostics is None
    assert (parent / "a").read_text() == "one\nfirst\nsecond\nthird\n"


async def test_a_subagent_lands_nothing(tmp_path: Path, parent: Path) -> None:
    async def act(request: RunRequest, sink: Sink) -> Answer:
        if request.prompt == "inner":
            return await writing(request, sink)
        inner = (await ohm.run("finder", "inner", **LANDS)).unwrap()
        assert "or a subagent asks for it" in f"{inner.diagnostics}"
        return kept(inner).landed

    async with opened(tmp_path, parent, act, {"budget": {"depth": 3}}) as ohm:
        outer = (await ohm.run("task", "outer")).unwrap()
    assert outer.output == "no"
    assert (parent / "a").read_text() == "one\n"


async def test_without_a_clone_there_is_nothing_to_land_and_that_is_said(tmp_path: Path, parent: Path) -> None:
    async with opened(tmp_path, parent, writing) as ohm:
        envelope = (await ohm.run("finder", "mine", land="clean")).unwrap()
        with pytest.raises(TypeError, match="land is 'always'; allowed: 'never' or 'ask' or 'clean'"):
            await ohm.run("finder", "mine", land=cast("Any", "always"))
    assert "without a clone" in f"{envelope.diagnostics}"


async def test_work_that_cannot_land_is_told_and_takes_no_answer_away(tmp_path: Path, parent: Path) -> None:
    async def act(request: RunRequest, sink: Sink) -> Answer:
        write(parent, **{".gitignore": "d\n"})
        write(parent, d="of the user\n")
        write(request.cwd, d="of the task\n")
        return await writing(request, sink)

    async with opened(tmp_path, parent, act) as ohm:
        envelope = (await ohm.run("finder", "mine", **LANDS)).unwrap()
    assert (envelope.status, kept(envelope).landed) == ("succeeded", "conflict")
    assert (parent / "d").read_text() == "of the user\n"


def agreeing(answer: Approve | Deny, asked: list[Request]) -> Callable[[Request], Awaitable[Approve | Deny]]:
    async def approvals(request: Request) -> Approve | Deny:
        asked.append(request)
        return answer

    return approvals


@pytest.mark.parametrize(("answer", "landed"), [(Approve(), "clean"), (Deny("not today"), "no")])
async def test_with_ask_the_work_lands_once_the_one_who_approves_has_agreed(
    tmp_path: Path, parent: Path, answer: Approve | Deny, landed: str
) -> None:
    asked: list[Request] = []
    async with opened(tmp_path, parent, writing, {"land": "ask"}, approvals=agreeing(answer, asked)) as ohm:
        envelope = (await ohm.run("finder", "mine", **LANDS)).unwrap()
    (request,) = asked
    work = kept(envelope)
    assert (request.tool, request.task_id) == ("land", envelope.task_id)
    assert json.loads(request.arguments) == {"ref": work.ref, "files": 1, "insertions": 1, "deletions": 1}
    assert (envelope.status, envelope.output, work.landed) == ("succeeded", "done", landed)
    assert (parent / "a").read_text() == ("mine\n" if landed == "clean" else "one\n")
    assert ("that was denied: not today" in f"{envelope.diagnostics}") == (landed == "no")
    assert "land 'clean' has no effect: the profile or ohm.json says 'ask'." in f"{envelope.diagnostics}"


@pytest.mark.parametrize(
    ("scope", "times"), [pytest.param("call", 3, marks=pytest.mark.slow), ("task", 2), ("always", 1)]
)
async def test_who_agrees_for_the_task_or_for_always_is_asked_no_more_about_what_it_or_any_task_lands(
    tmp_path: Path, parent: Path, scope: Scope, times: int
) -> None:
    asked: list[Request] = []
    has_begun, may_end = anyio.Event(), anyio.Event()

    async def act(request: RunRequest, sink: Sink) -> Answer:
        has_begun.set()
        await may_end.wait()
        return await writing(request, sink)

    approvals = agreeing(Approve(scope), asked)
    async with opened(tmp_path, parent, act, {"land": "ask"}, approvals=approvals) as ohm:
        first = await ohm.start("finder", "mine", isolation="clone")
        await has_begun.wait()
        async with anyio.create_task_group() as group:
            group.start_soon(first.send, "more of the same task")
            await anyio.lowlevel.checkpoint()
            may_end.set()
        other = (await ohm.run("finder", "other", isolation="clone")).unwrap()
        assert kept((await first.wait()).unwrap()).landed == kept(other).landed == "clean"
    assert len(asked) == times
    assert (parent / "a").read_text() == "other\n"


async def test_with_ask_nothing_lands_where_nobody_is_there_to_agree_and_that_is_said(
    tmp_path: Path, parent: Path
) -> None:
    async with opened(tmp_path, parent, writing) as ohm:
        envelope = (await ohm.run("finder", "mine", isolation="clone", land="ask")).unwrap()
        told = f"nobody was there to agree. `ohm land {envelope.task_id}` lands it."
        assert told in f"{envelope.diagnostics}"
        assert (kept(envelope).landed, (parent / "a").read_text()) == ("no", "one\n")
        await ohm.land(f"{envelope.task_id}")
    assert (parent / "a").read_text() == "mine\n"


async def test_a_task_that_is_cancelled_while_it_asks_lands_nothing_and_asks_no_more(
    tmp_path: Path, parent: Path
) -> None:
    waits = {"requests": {"unattended": "wait"}}
    async with opened(tmp_path, parent, writing, waits) as ohm:
        handle = await ohm.start("finder", "mine", isolation="clone", land="ask")
        async for event in handle.events():
            if isinstance(event, AnswerAwaited):
                break
        await handle.cancel()
        task = ohm.task(f"{handle.id}")
        assert task is not None
        assert (task.status, task.requests, ohm.requests()) == ("cancelled", (), ())
        assert kept(ohm.envelope(f"{handle.id}")).landed == "no"
    assert (parent / "a").read_text() == "one\n"


@pytest.mark.slow
async def test_the_references_of_landed_work_go_with_their_task_and_those_of_other_work_stay(
    tmp_path: Path, parent: Path
) -> None:
    async with opened(tmp_path, parent, writing, entries=1) as ohm:
        landed = (await ohm.run("finder", "first", **LANDS)).unwrap()
        kept_apart = (await ohm.run("finder", "second", isolation="clone")).unwrap()
        last = (await ohm.run("finder", "third", isolation="clone")).unwrap()
    names = git(parent, "for-each-ref", "--format=%(refname)", "refs/ohm").splitlines()
    assert not [name for name in names if f"{landed.task_id}" in name]
    assert {f"refs/ohm/{one.task_id}{kind}" for one in (kept_apart, last) for kind in ("", ".base")} == {*names}
