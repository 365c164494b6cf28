"""An `Ohm` after the one before it."""

import sqlite3

import anyio
import pytest

from ohm_subagents import Ohm
from ohm_subagents.contract import Checkpointed, FileChanged, TextDelta
from ohm_subagents.store import MemoryStore
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step

pytestmark = pytest.mark.anyio
FILE = "ohm.subagents.tasks.sqlite3"
TALK = Step(events=(TextDelta(text="so far"), Checkpointed(state="[1]")), text="done")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    """Real time: a virtual clock would jump to the deadline of a run while the disk is waited for."""
    return request.param


def opened(folder, *, store=None, backend=None, **config):
    env = {name: value for name, value in HERMETIC.items() if name != "OHM_SUBAGENTS_STORE"}
    chosen = {} if store is None else {"OHM_SUBAGENTS_STORE": store}
    return Ohm.open(
        env=env | chosen | {"PI_CONFIG_DIR": str(folder)},
        config={"subagentBackend": "scripted", **config},
        plugins=[backend or ScriptedBackend(default=TALK)],
    )


async def test_tasks_are_kept_in_the_users_directory_unless_somebody_says_otherwise(tmp_path):
    async with opened(tmp_path) as ohm:
        done = (await ohm.run("finder", "p")).ok_value
        assert ohm.store.place == str(tmp_path / FILE)
    async with opened(tmp_path) as ohm:
        assert ohm.task(done.task_id).output == "done"
        assert (ohm.task(done.task_id).text, ohm.diagnostics) == ("so far", ())
    for chosen in ({"store": "memory"}, {"subagents": {"store": "memory"}}):
        async with opened(tmp_path, **chosen) as ohm:
            assert ohm.task(done.task_id) is None


async def test_a_store_that_an_extra_brings_is_told_with_the_command_that_installs_it(tmp_path):
    async with opened(tmp_path, store="postgres") as ohm:
        refused = (await ohm.run("finder", "p")).err_value
        assert refused.code == "unsupported_store"
        assert "Install it: pip install " in refused.advice


async def test_no_task_is_kept_elsewhere_because_the_name_of_the_store_is_misspelt(tmp_path):
    async with opened(tmp_path, store="sqlit") as ohm:
        refused = (await ohm.run("finder", "p")).err_value
        assert refused.code == "unsupported_store"
        allowed = "'memory', 'snapshot', 'sqlite'"
        assert str(refused) == (
            "There is no store 'sqlit' (env OHM_SUBAGENTS_STORE). Did you mean 'sqlite'? "
            f"Set subagents.store to one of {allowed}."
        )
        assert [each.message for each in ohm.diagnostics] == [f"No task may start: {refused}"]
        assert ohm.store.count() == 0
    assert not [*tmp_path.iterdir()]
    memory = MemoryStore(lambda: 1)
    async with Ohm.open(
        env=HERMETIC | {"OHM_SUBAGENTS_STORE": "sqlit"}, config={"subagentBackend": "none"}, store=memory
    ) as ohm:
        assert (await ohm.run("finder", "p")).is_ok(), "what the program gave is used"


async def test_of_a_task_in_a_snapshot_as_many_events_are_read_as_are_to_be_kept(tmp_path):
    wrote = tuple(FileChanged(path=f"{number}.txt") for number in range(9))
    talk = Step(events=tuple(one for path in wrote for one in (path, TextDelta(text="."))), text="done")
    async with opened(tmp_path, store="snapshot", backend=ScriptedBackend(default=talk)) as ohm:
        done = (await ohm.run("finder", "p")).ok_value
        newest = ohm.task(done.task_id).activity.events[-3:]
    async with opened(tmp_path, store="snapshot", taskMaxEvents=3) as ohm:
        task = ohm.task(done.task_id)
    assert task.activity.events == newest


@pytest.mark.parametrize("store", ["sqlite", "snapshot"])
async def test_what_still_runs_when_an_ohm_closes_is_kept_as_cancelled(tmp_path, store):
    with anyio.CancelScope() as scope:
        async with opened(tmp_path, store=store, backend=ScriptedBackend(Step(gate=anyio.Event()))) as ohm:
            handle = await ohm.start("finder", "p")
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
            await anyio.sleep_forever()
    async with opened(tmp_path, store=store) as ohm:
        assert ohm.task(handle.id).status == "cancelled"
        assert ohm.diagnostics == ()


async def test_a_task_that_its_process_left_is_told_of_and_can_be_continued(tmp_path):
    waiting = Step(events=TALK.events, gate=anyio.Event())
    async with opened(tmp_path / "one", backend=ScriptedBackend(waiting)) as ohm:
        handle = await ohm.start("finder", "p")
        await anyio.wait_all_tasks_blocked()
        await ohm.store.flush()
        _killed(tmp_path)
    backend = ScriptedBackend(default=TALK)
    async with opened(tmp_path / "two", backend=backend, subagents={"sendToFinished": "resume"}) as ohm:
        assert [one.message for one in ohm.diagnostics] == [
            f"Task '{handle.id}' restored from non-terminal 'running' state and marked failed"
        ]
        failed = ohm.task(handle.id)
        assert (failed.status, failed.text, failed.activity.checkpoint) == ("failed", "so far", "[1]")
        answer = (await ohm.call("task", {"op": "send", "id": handle.id, "prompt": "and?"})).details
        assert (answer["status"], answer["resumed_from"]) == ("succeeded", handle.id)
        assert answer["session_id"] == failed.session_id
        (request,) = backend.calls
        assert request.checkpoint == "[1]"
        assert [one.prompt for one in request.history] == ["p"]
        assert [task.id for task in ohm.store.session(failed.session_id)] == [handle.id, answer["task_id"]]


def _killed(folder):
    """A copy of the registry, whose owner never comes back."""
    import shutil

    shutil.copytree(folder / "one", folder / "two", ignore=shutil.ignore_patterns("ohm.subagents.wakers"))
    connection = sqlite3.connect(folder / "two" / FILE)
    connection.execute("DELETE FROM owners")
    connection.commit()
    connection.close()


async def test_a_broken_configuration_opens_no_store(tmp_path):
    (tmp_path / "ohm.json").write_text("{ nope")
    env = {name: value for name, value in HERMETIC.items() if name != "OHM_SUBAGENTS_STORE"}
    async with Ohm.open(env=env | {"PI_CONFIG_DIR": str(tmp_path)}) as ohm:
        assert ohm.store.place is None
    assert [path.name for path in tmp_path.iterdir()] == ["ohm.json"]
