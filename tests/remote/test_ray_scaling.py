"""A pool grows with its runs and shrinks when they are fewer, and a runner that nobody used may have died meanwhile."""

import anyio
import pytest
from pooled_runners import pool

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend(virtual_time):
    return virtual_time


async def test_a_runner_that_is_killed_while_it_has_no_run_costs_none():
    async with pool(runners=1) as (ohm, here):
        assert (await ohm.run("finder", "say")).unwrap().output == "Done: say"
        await anyio.sleep(2)
        here.hosted[0].dead.set()
        assert (await ohm.run("finder", "say")).unwrap().output == "Done: say"


async def test_a_pool_grows_with_its_runs_and_shrinks_when_fewer_runners_were_enough_for_a_while():
    async with pool(runners={"min": 1, "max": 4}, runsPerRunner=2) as (ohm, here):
        one = await ohm.start("finder", "hang")
        many = [await ohm.start("finder", "count 3") for _ in range(7)]
        for handle in many:
            (await handle.wait()).unwrap()
        assert sorted(here.hosted) == [0, 1, 2, 3]
        await anyio.sleep(81)
        assert sorted(here.hosted) == [0]
        assert ohm.task(one.id).status == "running"
        await one.cancel()
        for handle in [await ohm.start("finder", "count 3") for _ in range(7)]:
            assert (await handle.wait()).unwrap().output == "Done: count 3"
        assert sorted(here.hosted) == [0, 1, 2, 3]


async def test_a_pool_that_is_too_large_gives_its_last_runners_nothing_so_that_they_become_idle():
    async with pool(runners={"min": 1, "max": 2}, runsPerRunner=1) as (ohm, here):
        for handle in [await ohm.start("finder", "say") for _ in range(2)]:
            (await handle.wait()).unwrap()
        for _ in range(10):
            await anyio.sleep(20)
            (await ohm.run("finder", "say")).unwrap()
        assert sorted(here.hosted) == [0]


async def test_a_runner_that_the_pool_need_not_have_stays_while_it_has_a_run():
    async with pool(runners={"min": 1, "max": 2}, runsPerRunner=1) as (ohm, here):
        handles = [await ohm.start("finder", "hang") for _ in range(2)]
        await anyio.sleep(100)
        assert sorted(here.hosted) == [0, 1]
        for handle in handles:
            await handle.cancel()
        await anyio.sleep(81)
        assert sorted(here.hosted) == [0]


async def test_a_pool_of_a_fixed_size_never_shrinks():
    async with pool(runners=2) as (ohm, here):
        for handle in [await ohm.start("finder", "say") for _ in range(2)]:
            (await handle.wait()).unwrap()
        await anyio.sleep(3600)
        assert sorted(here.hosted) == [0, 1]
