"""`Ohm.land` and `Ohm.discard`: what a settled task has kept apart comes to the files of its parent, or goes."""

import os
import signal
import sys
from pathlib import Path

import anyio
import pytest
from git_trees import fingerprint, git, repository, write
from kept_work import opened, worked

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC

pytestmark = pytest.mark.anyio
SUPPORT = Path(__file__).parents[1] / "support"


@pytest.fixture
def anyio_backend():
    """In real time, in which git runs."""
    return "asyncio"


@pytest.fixture
def parent(tmp_path):
    return repository(tmp_path / "parent", a="one\n", b="two\n")


async def test_work_lands_and_the_envelope_says_so(tmp_path, parent):
    async with opened(tmp_path) as ohm:
        task = await worked(ohm, parent, "by the task")
        assert ohm.envelope(task).workspace.landed == "no"
        landed = (await ohm.land(task)).unwrap()
        assert landed.workspace.landed == ohm.envelope(task).workspace.landed == "clean"
        assert landed.status == "succeeded"
        assert (parent / "a").read_text() == "by the task"
        again = (await ohm.land(task)).unwrap_err()
        assert f"{again}" == f"The changes of task '{task}' have landed; there is nothing more to land."
        gone = (await ohm.discard(task)).unwrap_err()
        assert "have landed, and are in the files of its directory" in f"{gone}"


async def test_a_conflict_is_an_error_and_the_envelope_names_it_until_the_work_fits(tmp_path, parent):
    async with opened(tmp_path) as ohm:
        task = await worked(ohm, parent, "by the task")
        write(parent, a="by the user\n")
        before = fingerprint(parent)
        error = (await ohm.land(task)).unwrap_err()
        assert error.code == "landing_conflict"
        assert f"{error}" == (
            f"The changes of task '{task}' do not fit into the files of its directory, and nothing has landed: "
            "a line 1: both have changed it. Change these lines there, or let another task make the changes to "
            "the files as they are now."
        )
        assert fingerprint(parent) == before
        workspace = ohm.envelope(task).workspace
        assert (workspace.landed, workspace.conflicts) == ("conflict", ["a line 1: both have changed it"])
        write(parent, a="one\n")
        assert (await ohm.land(task)).unwrap().workspace.payload().get("conflicts") is None


async def test_discarded_work_is_gone_and_the_envelope_says_so(tmp_path, parent):
    async with opened(tmp_path) as ohm:
        task = await worked(ohm, parent, "by the task")
        assert (await ohm.discard(task)).unwrap().workspace.landed == "discarded"
        assert git(parent, "for-each-ref", "refs/ohm") == ""
        assert (parent / "a").read_text() == "one\n"
        for act in (ohm.land, ohm.discard):
            assert f"{(await act(task)).unwrap_err()}" == f"The work of task '{task}' was discarded."


KILLED = """
import os, signal, sys
from pathlib import Path
import anyio
from acting import ActingBackend
from ohm_subagents import Ohm

async def act(request, sink):
    Path(request.cwd, "a").write_text("by the task")
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    config = {"subagentBackend": "acting"}
    async with Ohm.open(env=dict(os.environ), config=config, plugins=[ActingBackend(act)]) as ohm:
        await ohm.run("finder", "p", cwd=sys.argv[1], isolation="clone")

anyio.run(main)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("act", "left", "landed"), [("land", "by the task", "clean"), ("discard", "one\n", "discarded")]
)
async def test_what_a_killed_process_has_left_in_a_clone_lands_or_goes_too(tmp_path, parent, act, left, landed):
    env = {**HERMETIC, "PATH": os.environ["PATH"], "XDG_CACHE_HOME": f"{tmp_path}", "OHM_SUBAGENTS_STORE": "sqlite"}
    env |= {"PI_CONFIG_DIR": f"{tmp_path / 'config'}", "PYTHONPATH": f"{SUPPORT}"}
    command = [sys.executable, "-c", KILLED, f"{parent}"]
    died = await anyio.run_process(command, env=env, check=False)
    assert died.returncode == -signal.SIGKILL
    async with opened(tmp_path, store="sqlite") as ohm:
        (task,) = ohm.store.tasks()
        assert task.status == "failed"
        envelope = (await getattr(ohm, act)(task.id)).unwrap()
        assert (envelope.status, envelope.workspace.landed) == ("failed", landed)
        assert (parent / "a").read_text() == left


async def test_what_cannot_land_is_said_in_a_sentence(tmp_path, parent):
    async with opened(tmp_path) as ohm:
        task = await worked(ohm, parent, "nothing")
        assert (await ohm.land(task)).unwrap_err().code == "nothing_to_land"
        assert (await ohm.land("task_of_nobody")).unwrap_err().code == "unknown_task_id"
        handle = await ohm.start("finder", "wait", cwd=f"{parent}")
        running = (await ohm.land(handle.id or "")).unwrap_err()
        assert running.advice == "Wait for it, or cancel it."
        await handle.cancel()


async def test_another_program_lands_what_this_one_has_done_and_it_is_still_known_after_both(tmp_path, parent):
    async with opened(tmp_path, "sqlite") as ohm:
        task = await worked(ohm, parent, "by the task")
        async with opened(tmp_path, "sqlite") as other:
            assert (await other.land(task)).unwrap().workspace.landed == "clean"
        assert "have landed" in f"{(await ohm.land(task)).unwrap_err()}"
    async with opened(tmp_path, "sqlite") as later:
        assert later.envelope(task).workspace.landed == "clean"
        kinds = [one.event.kind for one in await later.store.history(later.task(task))]
        assert kinds[-2:] == ["task_settled", "workspace_kept"]


@pytest.mark.slow
async def test_siblings_land_one_after_the_other(tmp_path, parent):
    async with opened(tmp_path) as ohm:
        one, other = [await worked(ohm, parent, f"by task {n}") for n in (1, 2)]
        assert (await ohm.land(one)).unwrap().workspace.landed == "clean"
        assert (await ohm.land(other)).unwrap_err().code == "landing_conflict"
        assert (parent / "a").read_text() == "by task 1"


def test_a_script_lands_and_discards_too(tmp_path, parent):
    with Ohm.sync(env=HERMETIC, config={"subagentBackend": "none"}) as ohm:
        task = ohm.run("finder", "Look", cwd=f"{parent}").unwrap().task_id
        for act in (ohm.land, ohm.discard):
            told = act(task).unwrap_err()
            assert told.message == f"Task '{task}' had no clone, so what it changed is in your files."


async def test_a_parent_agent_lands_and_discards_by_task_and_is_told_of_it_where_there_are_clones(tmp_path, parent):
    async with opened(tmp_path) as ohm:
        tool = ohm.tools["task"]
        assert "land" not in tool.description
        one, other = [await worked(ohm, parent, f"by task {n}") for n in (1, 2)]
        landed = await ohm.call("task", {"op": "land", "id": one})
        assert (landed.details["op"], landed.details["workspace"]["landed"]) == ("land", "clean")
        refused = await ohm.call("task", {"op": "land", "id": other})
        assert refused.details["error_code"] == "landing_conflict"
        assert "a line 1: both have changed it" in refused.text
        gone = await ohm.call("task", {"op": "discard", "id": other})
        assert gone.details["workspace"]["landed"] == "discarded"
    async with Ohm.open(env=HERMETIC, config={"subagents": {"isolation": "clone"}}) as ohm:
        tool = ohm.tools["task"]
        assert "op=land" in tool.description
        assert tool.input_schema["properties"]["op"]["description"].endswith("cancel, land, discard")
