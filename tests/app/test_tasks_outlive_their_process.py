"""Tasks of a backend that goes on without this process: the next one takes them up, and misses nothing."""

import random
import time
from collections import Counter

import pytest
from counting_runner import CountingBackend
from counting_submitter import opened
from forking import forked
from loops import one_loop

from ohm_subagents import Ohm
from ohm_subagents.contract import RunStarted, TaskSettled, TextDelta
from ohm_subagents.store import NO_PROCESS

pytestmark = pytest.mark.anyio
RUNNER, SUBMITTER = (f"{__file__.rpartition('/')[0]}/../support/counting_{name}.py" for name in ("runner", "submitter"))


@pytest.fixture
def runner(tmp_path):
    with forked(RUNNER, tmp_path) as process:
        assert process.stdout.readline() == "ready\n"
        yield process


def numbers(text):
    return [int(word) for word in text.split()]


def killed_submitter(directory, number, *, after_s=0.0):
    """The id of a task whose process was killed at work."""
    with forked(SUBMITTER, directory, number) as process:
        task_id = process.stdout.readline().strip()
        time.sleep(after_s)  # the moment of the kill is what the test varies
        process.kill()
    return task_id


async def ended(ohm, task_id):
    """The envelope of a task that this process took up, after a look at its whole history."""
    envelope = (await ohm.handle(task_id).wait()).unwrap()
    history = [one.event for one in await ohm.store.history(ohm.task(task_id))]
    kinds = Counter(type(one) for one in history)
    assert (kinds[RunStarted], kinds[TaskSettled]) == (1, 1)
    assert "".join(one.text for one in history if isinstance(one, TextDelta)) == ohm.task(task_id).text
    return envelope


@one_loop
@pytest.mark.usefixtures("runner")
async def test_a_task_whose_process_was_killed_is_taken_up_by_the_next_one_which_misses_nothing(tmp_path):
    task_id = killed_submitter(tmp_path, 500)
    backend = CountingBackend(tmp_path)
    async with opened(tmp_path, backend) as ohm:
        assert ohm.task(task_id).status == "running"
        envelope = await ended(ohm, task_id)
    [(key, position)] = backend.attached
    assert 0 < position < 500
    assert numbers(envelope.output) == numbers(ohm.task(task_id).text) == [*range(1, 501)]
    assert (tmp_path / "begun").read_text() == f"{key}\n"


@one_loop
async def test_a_run_that_its_backend_has_lost_too_fails_with_all_that_it_said(tmp_path, runner):
    task_id = killed_submitter(tmp_path, 5000)
    runner.kill()
    (tmp_path / "runner").unlink()
    with forked(RUNNER, tmp_path) as another:
        another.stdout.readline()
        async with opened(tmp_path) as ohm:
            error = (await ohm.handle(task_id).wait()).unwrap_err()
    assert (error.code, error.retryable) == ("runner_lost", True)
    assert numbers(ohm.task(task_id).text)[:1] == [1]


@one_loop
@pytest.mark.usefixtures("runner")
async def test_a_task_that_nothing_here_takes_up_is_not_cancelled_and_that_is_said(tmp_path):
    task_id = killed_submitter(tmp_path, 500)
    config = {"subagentBackend": "none", "subagents": {"store": "sqlite"}}
    env = {"PI_CONFIG_DIR": str(tmp_path), "HOME": str(tmp_path), "OHM_SUBAGENTS_LOAD_PLUGINS": "none"}
    async with Ohm.open(cwd=tmp_path, env=env, config=config) as ohm:
        refused = await ohm.call("task", {"op": "cancel", "id": task_id})
        assert (refused.is_error, ohm.task(task_id).status) == (True, "running")
        assert ohm.store.owner(task_id) == NO_PROCESS
    assert f"Task '{task_id}' was not cancelled: its process has ended" in refused.text
    assert f"the directory '{tmp_path}'" in refused.text
    async with opened(tmp_path) as ohm:
        assert (await ohm.call("task", {"op": "cancel", "id": task_id})).details["status"] == "cancelled"


@one_loop
@pytest.mark.usefixtures("runner")
async def test_a_task_that_nothing_here_takes_up_is_not_waited_for_and_takes_no_follow_up(tmp_path):
    task_id = killed_submitter(tmp_path, 500)
    config = {"subagentBackend": "none", "subagents": {"store": "sqlite"}}
    env = {"PI_CONFIG_DIR": str(tmp_path), "HOME": str(tmp_path), "OHM_SUBAGENTS_LOAD_PLUGINS": "none"}
    async with Ohm.open(cwd=tmp_path, env=env, config=config) as ohm:
        waited = await ohm.call("task", {"op": "wait", "id": task_id})
        handled = (await ohm.handle(task_id).wait(timeout_ms=60_000)).unwrap_err()
        sent = await ohm.call("task", {"op": "send", "id": task_id, "prompt": "1"})
    ended = "its process has ended, and no backend 'counting' here takes it up"
    assert handled.message == f"Task '{task_id}' has not settled, and no process runs it: {ended}."
    assert (handled.message in waited.text, "timeout" in waited.text) == (True, False)
    assert f"Task '{task_id}' takes no follow-up: {ended}." in sent.text


@one_loop
@pytest.mark.usefixtures("runner")
async def test_two_processes_at_once_take_a_task_up_once(tmp_path):
    task_id = killed_submitter(tmp_path, 500)
    backends = CountingBackend(tmp_path), CountingBackend(tmp_path)
    async with opened(tmp_path, backends[0]) as one, opened(tmp_path, backends[1]) as other:
        await ended(one, task_id)
        assert not other.store.is_foreign(task_id)
    assert [len(backend.attached) for backend in backends] == [1, 0]


@one_loop
@pytest.mark.usefixtures("runner")
async def test_an_ohm_that_detaches_leaves_its_tasks_to_the_next_one(tmp_path):
    async with opened(tmp_path, onClose="detach") as ohm:
        handle = await ohm.start("task", "200")
        async for _ in handle.events():
            if ohm.task(handle.id).text:
                break
    async with opened(tmp_path) as ohm:
        assert numbers((await ended(ohm, handle.id)).output) == [*range(1, 201)]


@pytest.mark.slow
@one_loop
@pytest.mark.usefixtures("runner")
async def test_who_has_taken_a_task_up_leaves_it_again(tmp_path):
    task_id = killed_submitter(tmp_path, 1000)
    async with opened(tmp_path) as ohm:
        assert ohm.task(task_id).status == "running"
    async with opened(tmp_path) as ohm:
        assert numbers((await ended(ohm, task_id)).output) == [*range(1, 1001)]


@one_loop
@pytest.mark.usefixtures("runner")
async def test_an_ohm_without_the_backend_in_its_configuration_takes_nothing_up(tmp_path):
    task_id = killed_submitter(tmp_path, 300)
    backend = CountingBackend(tmp_path)
    env = {"PI_CONFIG_DIR": str(tmp_path), "HOME": str(tmp_path), "OHM_SUBAGENTS_LOAD_PLUGINS": "none"}
    config = {"subagentBackend": "none", "subagents": {"store": "sqlite"}}
    async with Ohm.open(cwd=tmp_path, env=env, config=config, plugins=[backend]) as ohm:
        assert (await ohm.run("finder", "p")).is_ok()
        assert ohm.task(task_id).status == "running"
    assert backend.attached == []
    async with opened(tmp_path) as ohm:
        assert numbers((await ended(ohm, task_id)).output) == [*range(1, 301)]


@one_loop
@pytest.mark.usefixtures("runner")
async def test_an_ohm_that_does_not_detach_cancels_them(tmp_path):
    async with opened(tmp_path) as ohm:
        handle = await ohm.start("task", "100000")
        async for _ in handle.events():
            if ohm.task(handle.id).text:
                break
    async with opened(tmp_path) as ohm:
        assert ohm.task(handle.id).status == "cancelled"


@one_loop
@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("rounds", [2, pytest.param(60, marks=pytest.mark.slow)])
async def test_whenever_the_process_is_killed_each_report_is_recorded_once(tmp_path, rounds):
    chance = random.Random(rounds)
    for number in range(rounds):
        task_id = killed_submitter(tmp_path, 100 + number, after_s=chance.random() * 0.2)
        async with opened(tmp_path) as ohm:
            expected = [*range(1, 101 + number)]
            envelope = (await ohm.handle(task_id).wait()).unwrap()
            assert numbers(ohm.task(task_id).text) == numbers(envelope.output) == expected
