"""A thousand completions, and a consumer of another process that is killed at random a hundred times."""

import random
from pathlib import Path

import anyio
import pytest
from anyio import to_thread
from forking import forked

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC

CHILD = Path(__file__).with_name("deliver_child.py")
COMPLETIONS, KILLS, SESSIONS, ROOM = 1000, 100, 7, 100


@pytest.mark.slow
@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_each_completion_is_delivered_and_acknowledged_once_and_in_order(tmp_path):
    """More complete than are kept: what the consumer has not acknowledged outlives its eviction."""
    directory, log = tmp_path / "registry", tmp_path / "log"
    env = HERMETIC | {"PI_CONFIG_DIR": f"{directory}", "OHM_SUBAGENTS_STORE": "sqlite"}
    config = {"subagentBackend": "none", "taskMaxEntries": ROOM}
    chance, expected = random.Random(17), []

    async with Ohm.open(env=env, config=config) as ohm:
        ohm.deliveries("parent")  # the consumer is known before the first task settles
        for _ in range(KILLS):
            for number in range(COMPLETIONS // KILLS):
                session = f"session_{number % SESSIONS}"
                expected.append((session, (await ohm.run("finder", "p", session=session)).ok_value.task_id))
            await ohm.store.flush()
            with forked(CHILD, directory, log, "parent") as consumer:
                for _ in range(chance.randint(1, COMPLETIONS // KILLS)):
                    assert await to_thread.run_sync(consumer.stdout.readline) == "got\n"
                await anyio.sleep(chance.uniform(0, 0.01))
        with forked(CHILD, directory, log, "parent"), anyio.fail_after(60):
            while ohm.deliveries("parent").pending():  # noqa: ASYNC110  another process sets no event here
                await anyio.sleep(0.01)

    got, acknowledged = words(log, "got"), words(log, "acked")
    assert {*got} == {*expected}
    assert len(expected) == COMPLETIONS
    assert COMPLETIONS - len(acknowledged) <= KILLS  # one was perhaps killed before it could write it down
    assert repeated(log) == []
    for session in range(SESSIONS):
        of_session = [each for each in expected if each[0] == f"session_{session}"]
        assert list(dict.fromkeys(each for each in got if each[0] == f"session_{session}")) == of_session


def repeated(log):
    """Return what was delivered or acknowledged although it had been acknowledged."""
    seen, again = set(), []
    for line in log.read_text().splitlines():
        what, *task = line.split()
        if tuple(task) in seen and task != ["-", "-"]:
            again.append(line)
        if what == "acked":
            seen.add(tuple(task))
    return again


def words(log, kind):
    lines = [line.split() for line in log.read_text().splitlines()]
    return [(session, task) for what, session, task in lines if what == kind]
