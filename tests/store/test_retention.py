"""The retention of finished tasks, and the words for one that is gone (004, Persistence details)."""

from itertools import count

import anyio
import pytest

from ohm_subagents import Ohm
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step

pytestmark = pytest.mark.anyio


class Clock:
    def __init__(self):
        self.now = 1_000_000

    def __call__(self):
        return self.now


def open_ohm(clock, *, env=None, backend=None, **config):
    numbers = count(1)
    return Ohm.open(
        env=HERMETIC | (env or {}),
        config={"subagentBackend": "scripted", **config},
        plugins=[backend or ScriptedBackend(default=Step(text="done"))],
        clock=clock,
        new_task_id=lambda: f"task_{next(numbers)}",
    )


async def looked_up(ohm, *ids):
    items = (await ohm.call("task", {"op": "status", "ids": list(ids)})).details["items"]
    return [item.get("error_code", item.get("status")) for item in items]


@pytest.mark.parametrize(
    ("config", "env", "retention_ms"),
    [
        ({}, {}, 86_400_000),
        ({"subagents": {"taskRetentionMs": 5000}}, {}, 5000),
        ({}, {"OHM_SUBAGENTS_TASK_RETENTION_MS": "7000"}, 7000),
        ({"subagents": {"taskRetentionMs": 5000}}, {"OHM_SUBAGENTS_TASK_RETENTION_MS": "7000"}, 7000),
    ],
)
async def test_the_retention_is_configured(config, env, retention_ms):
    clock = Clock()
    async with open_ohm(clock, env=env, **config) as ohm:
        await ohm.run("finder", "p")
        clock.now += retention_ms - 1
        assert await looked_up(ohm, "task_1") == ["succeeded"]
        clock.now += 1
        for op in ({"op": "status", "ids": ["task_1"]}, {"op": "wait", "id": "task_1"}):
            (item,) = (await ohm.call("task", op)).details["items"]
            assert (item["found"], item["error_code"], item["error_category"]) == (False, "task_expired", "not_found")
            assert item["error_message"] == f"Task id 'task_1' expired by retention policy after {retention_ms}ms"
        for op in ({"op": "send", "id": "task_1", "prompt": "and?"}, {"op": "cancel", "id": "task_1"}):
            details = (await ohm.call("task", op)).details
            assert (details["error_code"], details["error_category"]) == ("task_expired", "not_found")


async def test_beyond_the_capacity_the_oldest_finished_task_goes_first():
    async with open_ohm(Clock(), taskMaxEntries=2) as ohm:
        for _ in range(3):
            await ohm.run("finder", "p")
        assert await looked_up(ohm, "task_1", "task_2", "task_3") == ["task_expired", "succeeded", "succeeded"]
        (item,) = (await ohm.call("task", {"op": "status", "id": "task_1"})).details["items"]
    assert item["error_message"] == "Task id 'task_1' evicted by capacity policy after reaching max 2 tasks"


async def test_a_task_that_runs_is_never_removed():
    clock, gate = Clock(), anyio.Event()
    backend = ScriptedBackend(Step(text="slow", gate=gate), default=Step(text="done"))
    async with open_ohm(clock, backend=backend, taskMaxEntries=1, subagents={"taskRetentionMs": 10}) as ohm:
        slow = await ohm.start("finder", "p")
        await anyio.wait_all_tasks_blocked()
        await ohm.run("finder", "p")
        clock.now += 1000
        await ohm.run("finder", "p")
        assert await looked_up(ohm, "task_1", "task_2") == ["running", "task_expired"]
        gate.set()
        assert (await slow.wait()).ok_value.output == "slow"


async def test_only_so_many_reasons_are_remembered():
    async with open_ohm(Clock(), taskMaxEntries=1, taskMaxExpiredEntries=1) as ohm:
        for _ in range(3):
            await ohm.run("finder", "p")
        assert await looked_up(ohm, "task_1", "task_2", "task_3") == ["unknown_task_id", "task_expired", "succeeded"]
