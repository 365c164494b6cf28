"""Whoever waits for news of a store is woken by it, and the event loop no more often than it can look."""

import asyncio
from functools import reduce

import anyio
import pytest
from made_tasks import queued_task

from ohm_postgres.log import LOOK_S
from ohm_subagents._store.following import Followers, Watch
from ohm_subagents.contract import (
    ModelSelected,
    RouteResolved,
    RunEnded,
    RunStarted,
    Succeeded,
    TaskQueued,
    TaskSettled,
    apply,
)
from ohm_subagents.store import unstarted

pytestmark = pytest.mark.anyio


class Told:
    """Tells of news, as stores do."""

    look_s = None

    def __init__(self):
        self.followers = Followers()
        self.follow = self.followers.follow


async def test_news_that_comes_before_a_wait_ends_it():
    told = Told()
    with Watch(told) as watch:
        for _ in range(3):
            told.followers.wake()
            with anyio.fail_after(60):
                await watch.news()


async def test_news_from_a_thread_ends_a_wait():
    told = Told()
    with Watch(told) as watch:
        for _ in range(3):
            await anyio.to_thread.run_sync(told.followers.wake)
            with anyio.fail_after(60):
                await watch.news()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_thousand_pieces_of_news_in_one_turn_wake_the_loop_once(monkeypatch):
    told, calls, loop = Told(), [], asyncio.get_running_loop()
    call_soon = loop.call_soon_threadsafe
    monkeypatch.setattr(loop, "call_soon_threadsafe", lambda *work: calls.append(work) or call_soon(*work))
    with Watch(told) as watch:
        for turn in range(1, 3):
            for _ in range(1000):
                told.followers.wake()
            await watch.news()
            assert len(calls) == turn


class TestInVirtualTime:
    @pytest.fixture
    def anyio_backend(self, virtual_time):
        return virtual_time

    async def test_who_follows_a_store_that_tells_nothing_looks_four_times_a_second_and_no_more_often(self):
        told, looks = Told(), 0
        told.look_s = LOOK_S
        with anyio.move_on_after(10.1), Watch(told) as watch:
            while True:
                await watch.news(within_s=2)
                looks += 1
        assert looks == 40


async def test_events_that_are_folded_again_make_the_task_that_they_made_before() -> None:
    events = (
        TaskQueued(),
        ModelSelected(model="openai/gpt", why="chosen"),
        RouteResolved(provider="openai", model="gpt", runtime="r", route="r"),
        RunStarted(prompt="p"),
        RunEnded(outcome=Succeeded(), output="Done."),
        TaskSettled(outcome=Succeeded()),
    )
    new = queued_task("task_1", summary="Queued Finder: scan")
    once = reduce(lambda state, event: apply(state, event, at_ms=1), events, new)
    assert unstarted(once) == new
    assert reduce(lambda state, event: apply(state, event, at_ms=1), events, unstarted(once)) == once
