"""`kill -9` of a submitter costs its tasks nothing, and of a runner its own runs alone."""

import random
import time
from collections import Counter

import pytest
from forking import forked
from loops import one_loop
from socket_runner import opened

from ohm_subagents.contract import RunStarted, TaskSettled, TextDelta

pytestmark = [pytest.mark.anyio, one_loop]
SCRIPT = f"{__file__.rpartition('/')[0]}/../support/socket_runner.py"


@pytest.fixture
def runner(tmp_path):
    with forked(SCRIPT, tmp_path) as process:
        assert process.stdout.readline() == "ready\n"
        yield process


def killed_submitter(directory, number, *, after_s=0.0):
    """The id of a task whose process was killed at work."""
    with forked(SCRIPT, directory, number) as process:
        task_id = process.stdout.readline().strip()
        time.sleep(after_s)  # the moment of the kill is what the test varies
        process.kill()
    return task_id


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("rounds", [1, pytest.param(8, marks=pytest.mark.slow)])
async def test_whenever_the_submitter_is_killed_the_next_one_records_each_report_once(tmp_path, rounds):
    chance = random.Random(rounds)
    for number in range(rounds):
        last = 200 + number
        task_id = killed_submitter(tmp_path, last, after_s=chance.random() * 0.4)
        async with opened(tmp_path) as ohm:
            envelope = (await ohm.handle(task_id).wait()).unwrap()
            task = ohm.task(task_id)
            kinds = Counter(type(one.event) for one in await ohm.store.history(task))
        assert envelope.output == "counted"
        assert [int(one) for one in task.text.split()] == [*range(1, last + 1)]
        assert (kinds[RunStarted], kinds[TaskSettled], kinds[TextDelta] > 0) == (1, 1, True)
        assert task.activity.usage.requests == last // 100
    assert len((tmp_path / "ended").read_text().splitlines()) == rounds


async def test_a_killed_runner_costs_its_runs_and_what_they_said_is_kept(tmp_path, runner):
    async with opened(tmp_path) as ohm:
        handle = await ohm.start("task", "100000")
        async for _ in handle.events():
            if ohm.task(handle.id).text:
                break
        runner.kill()
        error = (await handle.wait()).unwrap_err()
        assert ohm.task(handle.id).text.startswith("1 ")
        (tmp_path / "runner").unlink()
        with forked(SCRIPT, tmp_path) as another:
            another.stdout.readline()
            assert (await ohm.run("task", "3")).unwrap().output == "counted"
    assert (error.code, error.retryable) == ("runner_lost", True)
