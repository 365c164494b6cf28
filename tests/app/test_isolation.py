"""`isolation: "clone"`: each task works on a clone of the files, and what it did is kept in a reference."""

import os

import anyio
import pytest
from acting import ActingBackend
from git_trees import fingerprint, git, repository, write

from ohm_subagents import ErrorCode, Ohm
from ohm_subagents.contract import TextDelta, ToolStarted
from ohm_subagents.plugin import Err, OhmError
from ohm_subagents.testing import HERMETIC, EventLog
from ohm_subagents.workspaces import Landings

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    """In real time, in which git runs."""
    return "asyncio"


@pytest.fixture
def parent(tmp_path):
    made = repository(tmp_path / "parent", a="one\n", b="two\n")
    write(made, a="changed\n", c="untracked\n")
    return made


def env(tmp_path, **more):
    return {**HERMETIC, "PATH": os.environ["PATH"], "XDG_CACHE_HOME": f"{tmp_path / 'cache'}", **more}


def opened(tmp_path, parent, act, *more, subagents=None, **variables):
    backend = act if isinstance(act, ActingBackend) else ActingBackend(act)
    config = {"subagentBackend": "acting", "subagents": subagents or {}}
    return Ohm.open(cwd=parent, env=env(tmp_path, **variables), config=config, plugins=[backend, *more])


def left(tmp_path):
    """The clones that are still there."""
    return [*tmp_path.rglob("clones/*")]


async def changing(request, _sink):
    (request.cwd / "a").write_text("changed\nagain\n")
    (request.cwd / "b").unlink(missing_ok=True)
    return f"{request.cwd}"


async def test_a_task_works_on_a_clone_and_its_work_is_kept_beside_the_files(tmp_path, parent):
    before = fingerprint(parent)
    async with opened(tmp_path, parent, changing) as ohm:
        envelope = (await ohm.run("finder", "Do it", isolation="clone")).unwrap()
        task = ohm.task(envelope.task_id)
    assert not envelope.output.startswith(f"{parent}")
    work = envelope.workspace
    assert (work.ref, work.files, work.insertions, work.deletions) == (f"refs/ohm/{envelope.task_id}", 2, 1, 1)
    assert git(parent, "show", f"{work.ref}:a") == "changed\nagain"
    assert git(parent, "show", f"{work.ref}:c") == "untracked"
    assert fingerprint(parent) == before
    assert task.launch.isolation == "clone"
    assert left(tmp_path) == []


async def test_without_isolation_a_task_works_on_the_files_themselves(tmp_path, parent):
    async with opened(tmp_path, parent, changing) as ohm:
        envelope = (await ohm.run("finder", "Do it")).unwrap()
    assert envelope.output == f"{parent}"
    assert envelope.workspace is None
    assert git(parent, "for-each-ref", "refs/ohm") == ""


async def test_a_directory_below_the_top_is_the_same_one_below_the_clone(tmp_path, parent):
    (parent / "deep" / "er").mkdir(parents=True)
    write(parent / "deep" / "er", x="1\n")

    async def act(request, _sink):
        return f"{request.cwd.name} {(request.cwd / 'x').read_text()}{(request.cwd / '../../a').read_text()}"

    async with opened(tmp_path, parent / "deep" / "er", act) as ohm:
        envelope = (await ohm.run("finder", "Do it", isolation="clone")).unwrap()
    assert envelope.output == "er 1\nchanged\n"


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("subagents", "asked", "is_cloned"),
    [
        ({"isolation": "clone"}, None, True),
        ({"isolation": "clone"}, "none", True),
        ({"isolation": "clone", "finder": {"isolation": "none"}}, None, False),
        pytest.param({"isolation": "clone", "finder": {"isolation": "none"}}, "clone", True, marks=pytest.mark.slow),
        pytest.param({"finder": {"isolation": "clone"}}, "none", True, marks=pytest.mark.slow),
        ({"isolation": "clnoe"}, None, True),
        pytest.param({"finder": {"isolatoin": "clone"}}, None, True, marks=pytest.mark.slow),
        pytest.param({"finder": {"isolation": None}}, None, False, marks=pytest.mark.slow),
    ],
)
async def test_a_clone_is_made_if_ohm_json_or_the_call_demands_it(tmp_path, parent, subagents, asked, is_cloned):
    async with opened(tmp_path, parent, changing, subagents=subagents) as ohm:
        envelope = (await ohm.run("finder", "Do it", isolation=asked)).unwrap()
    assert (envelope.workspace is not None) == is_cloned
    told = "isolation 'none' has no effect" in f"{envelope.diagnostics}"
    assert told == (asked == "none")


async def test_a_profile_demands_a_clone_and_no_call_talks_it_out_of_it(tmp_path, parent):
    folder = tmp_path / "config" / "subagents"
    folder.mkdir(parents=True)
    (folder / "careful.md").write_text("---\nid: careful\nsummary: S\nisolation: clone\n---\nWork.\n")
    async with opened(tmp_path, parent, changing, PI_CONFIG_DIR=f"{tmp_path / 'config'}") as ohm:
        envelope = (await ohm.run("careful", "Do it", isolation="none")).unwrap()
    assert envelope.workspace.files == 2


async def test_the_tool_takes_isolation_for_one_task_and_for_each_of_several(tmp_path, parent):
    one = {"subagent_type": "finder", "description": "d", "prompt": "p"}
    async with opened(tmp_path, parent, changing) as ohm:
        single = await ohm.call("task", {"op": "start", **one, "isolation": "clone"})
        several = await ohm.call(
            "task", {"op": "start", "tasks": [{**one, "isolation": "clone"}] * 2, "parallel": True}
        )
        wrong = await ohm.call("task", {"op": "start", **one, "isolation": "worktree"})
        outside = await ohm.call("task", {"op": "start", "tasks": [one], "isolation": "clone"})
        sent = await ohm.call("task", {"op": "send", "id": "task_1", "prompt": "p", "isolation": "clone"})
    assert single.details["workspace"]["files"] == 2
    assert several.details["status"] == "succeeded"
    assert git(parent, "for-each-ref", "--format=%(refname)", "refs/ohm").count(".base") == 3
    assert "none or clone" in wrong.text
    assert "nothing is started without it" in outside.text
    assert "nothing is started without it" in sent.text


async def test_work_is_kept_however_a_run_ends(tmp_path, parent):
    log = EventLog()

    async def act(request, sink):
        (request.cwd / "a").write_text(f"{request.prompt}\n")
        if request.prompt == "fail":
            return Err(OhmError(code=ErrorCode.BACKEND_FAILED, message="It failed."))
        if request.prompt == "raise":
            raise RuntimeError("bug")
        sink.emit(TextDelta(text="on"))
        return await anyio.sleep_forever()

    async with opened(tmp_path, parent, act, log, subagents={"isolation": "clone"}) as ohm:
        failed = (await ohm.run("finder", "fail")).unwrap_err()
        raised = (await ohm.run("finder", "raise")).unwrap_err()
        handle = await ohm.start("finder", "cancel")
        await log.until(lambda _task, event: isinstance(event, TextDelta))
        await handle.cancel()
    for task, said in ((failed.task_id, "fail"), (raised.task_id, "raise"), (handle.id, "cancel")):
        assert git(parent, "show", f"refs/ohm/{task}:a") == said
    assert left(tmp_path) == []


@pytest.mark.slow
async def test_a_follow_up_and_a_resumed_task_go_on_with_the_work_in_the_same_place(tmp_path, parent):
    places = []

    async def act(request, _sink):
        places.append(request.cwd)
        with (request.cwd / "a").open("a") as file:
            file.write(f"{request.prompt}\n")
        return (request.cwd / "a").read_text()

    subagents, kept = (
        {"sendToFinished": "resume"},
        {"PI_CONFIG_DIR": f"{tmp_path / 'config'}", "OHM_SUBAGENTS_STORE": "sqlite"},
    )
    async with opened(tmp_path, parent, act, subagents=subagents, **kept) as ohm:
        first = (await ohm.run("finder", "one", isolation="clone")).unwrap()
        second = (await ohm.handle(first.task_id).send("two")).unwrap()
    async with opened(tmp_path, parent, act, subagents=subagents, **kept) as ohm:
        third = (await ohm.handle(second.task_id).send("three")).unwrap()
    assert third.output == "changed\none\ntwo\nthree\n"
    assert (third.workspace.files, third.workspace.insertions) == (1, 3)
    assert len({*places}) == 1
    assert (parent / "a").read_text() == "changed\n"


async def test_a_subagent_of_an_isolated_one_works_in_the_same_clone(tmp_path, parent):
    async def act(request, _sink):
        if request.prompt == "inner":
            (request.cwd / "a").write_text("by the inner one\n")
            return f"{request.cwd}"
        inner = (await ohm.run("finder", "inner")).unwrap()
        deeper = (await ohm.run("finder", "inner", cwd=parent, isolation="clone")).unwrap()
        assert inner.output == deeper.output == f"{request.cwd}"
        return "done"

    async with opened(tmp_path, parent, act, subagents={"budget": {"depth": 3}}) as ohm:
        outer = (await ohm.run("task", "outer", isolation="clone")).unwrap()
        inner, deeper = (task for task in ohm.store.tasks() if task.assignment.prompt == "inner")
        assert inner.launch.clone_of == deeper.launch.clone_of == outer.task_id
        assert ohm.task(outer.task_id).launch.clone_of is None
        told = f"worked in the clone of task '{outer.task_id}', whose work has what it changed."
        for act in (ohm.land, ohm.discard):
            assert f"{(await act(inner.id)).unwrap_err()}" == f"Task '{inner.id}' {told}"
    assert git(parent, "show", f"{outer.workspace.ref}:a") == "by the inner one"
    assert (parent / "a").read_text() == "changed\n"


async def test_a_process_inside_of_a_clone_works_in_it_and_makes_none_of_its_own(tmp_path, parent):
    async with opened(tmp_path, parent, changing, OHM_SUBAGENT_CLONE=f"{parent}") as ohm:
        inside = (await ohm.run("finder", "p", isolation="clone")).unwrap()
    assert inside.output == f"{parent}"
    async with opened(tmp_path, parent, changing, OHM_SUBAGENT_CLONE=f"{tmp_path / 'other'}") as ohm:
        outside = (await ohm.run("finder", "p", isolation="clone")).unwrap()
    assert outside.output != f"{parent}"


async def test_variables_that_lead_to_the_original_do_not_reach_the_run(tmp_path, parent):
    seen = {}

    async def act(request, _sink):
        seen.update(request.env)
        assert f"Working directory: {request.cwd}" in request.instructions
        return f"{request.cwd}"

    given = {"GIT_DIR": f"{parent / '.git'}", "GIT_WORK_TREE": f"{parent}", "PWD": f"{parent}", "OLDPWD": f"{parent}"}
    given |= {"VIRTUAL_ENV": f"{parent / '.venv'}", "ELSEWHERE": f"{parent}-not"}
    async with opened(tmp_path, parent, act, **given) as ohm:
        envelope = (await ohm.run("finder", "p", isolation="clone")).unwrap()
    assert not {"GIT_DIR", "GIT_WORK_TREE", "PWD", "OLDPWD"} & {*seen}
    assert seen["VIRTUAL_ENV"] == f"{envelope.output}/.venv"
    assert seen["ELSEWHERE"] == f"{parent}-not"


async def test_rules_mean_the_original_and_the_original_is_outside(tmp_path, parent):
    asked = {}

    async def act(request, _sink):
        for path in ("a", f"{request.cwd / 'a'}", f"{parent / 'a'}", "b"):
            asked[path.replace(f"{request.cwd}", "clone")] = await request.gate.tool("read", {"path": path}) is None
        return "done"

    subagents = {"finder": {"tools": {"allow": [f"read: {parent}/a"]}}}
    async with opened(tmp_path, parent, act, subagents=subagents) as ohm:
        (await ohm.run("finder", "p", isolation="clone")).unwrap()
    assert asked == {"a": True, "clone/a": True, f"{parent / 'a'}": False, "b": False}


async def test_work_that_cannot_be_kept_fails_the_task_and_the_error_names_what_has_it(tmp_path, parent):
    async def act(request, _sink):
        (request.cwd / "a").write_text("precious\n")
        (parent / ".git" / "HEAD").unlink()
        return "done"

    async with opened(tmp_path, parent, act) as ohm:
        error = (await ohm.run("finder", "p", isolation="clone")).unwrap_err()
    assert error.code == ErrorCode.WORKSPACE_FAILED
    place = error.advice.split("'")[1]
    assert await anyio.Path(place).exists()


async def test_a_run_without_a_place_for_clones_fails_in_a_sentence_and_leaves_nothing(tmp_path, parent):
    nowhere = {"PATH": os.environ["PATH"], "PI_CONFIG_DIR": f"{tmp_path}"}
    async with Ohm.open(cwd=parent, env=nowhere, config={"subagentBackend": "none"}) as ohm:
        error = (await ohm.run("finder", "p", isolation="clone")).unwrap_err()
        with pytest.raises(TypeError, match="isolation is 'worktree'; allowed: 'none' or 'clone'"):
            await ohm.run("finder", "p", isolation="worktree")
    assert "neither XDG_CACHE_HOME nor HOME is set" in error.message
    assert git(parent, "for-each-ref", "refs/ohm") == ""


async def test_a_change_of_the_parent_that_a_call_has_named_fails_the_task_and_says_what_changed(tmp_path, parent):
    async def act(request, sink):
        (request.cwd / "a").write_text("in the clone\n")
        sink.emit(ToolStarted(call_id="1", tool="bash", args=f'{{"command": "cd {parent} && git commit -qam x"}}'))
        git(parent, "commit", "-qam", "x")
        write(parent, d="escaped\n")
        return "done"

    async with opened(tmp_path, parent, act) as ohm:
        error = (await ohm.run("finder", "p", isolation="clone")).unwrap_err()
    assert error.code == ErrorCode.WORKSPACE_ESCAPED
    assert "has called bash there" in error.message
    assert "not landed: refs/heads/main, the index, d." in error.message
    assert git(parent, "show", f"refs/ohm/{error.task_id}:a") == "in the clone"


async def test_a_change_of_the_parent_by_nobody_known_is_told_and_costs_no_answer(tmp_path, parent):
    async def act(request, sink):
        sink.emit(ToolStarted(call_id="1", tool="bash", args=f'{{"command": "ls {parent}-beside {request.cwd}"}}'))
        write(parent, **dict.fromkeys(names, "by the user\n"))
        return "done"

    names = [f"a{n:02}" for n in range(20)]  # so many are named
    async with opened(tmp_path, parent, act) as ohm:
        envelope = (await ohm.run("finder", "p", isolation="clone")).unwrap()
    told = f"not landed: {', '.join(names[:20])}; nothing that it did names them"
    assert [one for one in envelope.diagnostics if told in one]


async def test_what_lands_meanwhile_is_no_change_by_the_task(tmp_path, parent):
    landings = Landings.of(env(tmp_path)).unwrap()

    async def act(request, _sink):
        if request.prompt == "second":
            assert (await landings.land(parent, first.task_id)).unwrap().landed == "clean"
            return "done"
        return await changing(request, _sink)

    async with opened(tmp_path, parent, act) as ohm:
        first = (await ohm.run("finder", "first", isolation="clone")).unwrap()
        second = (await ohm.run("finder", "second", isolation="clone")).unwrap()
    assert (parent / "a").read_text() == "changed\nagain\n"
    assert second.diagnostics is None
