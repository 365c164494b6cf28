"""Laws of outboxes: each settled task once to each consumer that acknowledges it, in order, and bounded.

A module of tests takes them all in, with fixtures `stores` and `durable` of its own.
"""

import pytest
from store_tasks import Hand

from ohm_subagents.contract import TextDelta
from ohm_subagents.store import HELD_TIMES, MOST_CONSUMERS, Consumer, Outbox

pytestmark = pytest.mark.anyio
EVERYTHING = Consumer(name="all")


async def settled(stores, store, *ids, **fields):
    """Let tasks settle, and what is kept of them be safe."""
    for each in ids:
        Hand(store, stores.clock).settled(each, **fields)
    await store.flush()


def pending(store, consumer=EVERYTHING, *, after=0, limit=100):
    outbox: Outbox = store.outbox
    return [each.task.id for each in outbox.pending(consumer, after=after, limit=limit)]


async def acknowledge(store, *ids, consumer=EVERYTHING):
    for each in store.outbox.pending(consumer, after=0, limit=1000):
        if each.task.id in ids:
            store.outbox.acknowledge(consumer.name, each.sequence)
    await store.flush()


async def test_what_settles_is_pending_in_order_until_it_is_acknowledged(stores):
    async with stores.opened() as store:
        store.outbox.register(EVERYTHING)
        await settled(stores, store, "task_1", "task_2", "task_3")
        assert pending(store) == ["task_1", "task_2", "task_3"]
        assert pending(store, limit=2) == ["task_1", "task_2"]
        first, *_ = store.outbox.pending(EVERYTHING, after=0, limit=1)
        assert (first.task.status, first.task.output) == ("succeeded", "done")
        assert pending(store, after=first.sequence) == ["task_2", "task_3"]
        await acknowledge(store, "task_2")
        assert pending(store) == ["task_1", "task_3"]
        await acknowledge(store, "task_1")
        assert pending(store) == ["task_3"]


async def test_what_runs_is_not_pending(stores):
    async with stores.opened() as store:
        store.outbox.register(EVERYTHING)
        Hand(store, stores.clock).started("task_1", TextDelta(text="so far"))
        await store.flush()
        assert pending(store) == []


async def test_each_consumer_has_a_position_of_its_own(stores):
    other = Consumer(name="other")
    async with stores.opened() as store:
        await settled(stores, store, "task_1")
        store.outbox.register(EVERYTHING)
        store.outbox.register(other)
        await settled(stores, store, "task_2")
        await acknowledge(store, "task_1", "task_2")
        assert (pending(store), pending(store, other)) == ([], ["task_1", "task_2"])
        store.outbox.forget("other")
        await store.flush()


async def test_a_consumer_may_want_one_session_or_some_calls_only(stores):
    of_session, of_calls = Consumer(name="s", session="session_b"), Consumer(name="c", calls="chat-7/")
    async with stores.opened() as store:
        for each in (of_session, of_calls):
            store.outbox.register(each)
        await settled(stores, store, "task_1")
        await settled(stores, store, "task_2", session="session_b")
        await settled(stores, store, "task_3", call="chat-7/1")
        await settled(stores, store, "task_4", call="chat-70/1")
        assert (pending(store, of_session), pending(store, of_calls)) == (["task_2"], ["task_3"])
        await acknowledge(store, "task_2", consumer=of_session)
        await acknowledge(store, "task_3", consumer=of_calls)
        assert (pending(store, of_session), pending(store, of_calls)) == ([], [])


async def test_what_was_not_acknowledged_comes_again_after_a_restart_and_nothing_else(durable):
    async with durable.opened() as store:
        store.outbox.register(EVERYTHING)
        await settled(durable, store, "task_1", "task_2", "task_3")
        await acknowledge(store, "task_1", "task_3")
    async with durable.opened() as store:
        assert pending(store) == ["task_2"]
        store.outbox.register(EVERYTHING)
        await settled(durable, store, "task_4")
        assert pending(store) == ["task_2", "task_4"]
        await acknowledge(store, "task_2", "task_4")
    async with durable.opened() as store:
        assert pending(store) == []


async def test_a_new_consumer_begins_with_what_settled_since_the_store_was_opened(durable):
    async with durable.opened() as store:
        await settled(durable, store, "task_1")
    async with durable.opened() as store:
        await settled(durable, store, "task_2")
        store.outbox.register(EVERYTHING)
        await settled(durable, store, "task_3")
        assert pending(store) == ["task_2", "task_3"]


async def test_a_task_whose_process_died_is_delivered_as_failed(durable):
    async with durable.opened() as store:
        store.outbox.register(EVERYTHING)
        Hand(store, durable.clock).started("task_1", TextDelta(text="so far"))
        await store.flush()
        dead = store.place
    assert dead  # the owner has left: what it left unsettled is that of a dead one
    async with durable.opened() as store:
        (entry,) = store.outbox.pending(EVERYTHING, after=0, limit=9)
        assert (entry.task.id, entry.task.status) == ("task_1", "failed")


async def test_what_a_consumer_waits_for_outlives_its_eviction(stores):
    async with stores.opened(max_entries=2) as store:
        store.outbox.register(EVERYTHING)
        for number in range(8):
            await settled(stores, store, f"task_{number}")
        assert store.count() == 2
        assert pending(store) == [f"task_{number}" for number in range(8)]
        assert str(store.get("task_0").err_value.code) == "task_expired"
        await acknowledge(store, *[f"task_{number}" for number in range(8)])
        assert pending(store) == []


async def test_what_a_consumer_waits_for_outlives_its_time(durable):
    async with durable.opened(retention_ms=100) as store:
        store.outbox.register(EVERYTHING)
        await settled(durable, store, "task_1")
    durable.clock.now += 1000
    async with durable.opened(retention_ms=100) as store:
        assert str(store.get("task_1").err_value.code) == "task_expired"
        assert pending(store) == ["task_1"]


async def test_a_consumer_that_never_comes_costs_nothing_unbounded_and_is_told_what_it_missed(durable):
    room, many = 2, 60
    async with durable.opened(max_entries=room) as store:
        store.outbox.register(EVERYTHING)
        for number in range(many):
            await settled(durable, store, f"task_{number}")
    async with durable.opened(max_entries=room) as store:
        held = pending(store)
        assert len(held) <= room * (1 + HELD_TIMES)
        assert held == [f"task_{number}" for number in range(many - len(held), many)]
        assert store.outbox.register(EVERYTHING) == many - len(held)
        await store.flush()
        assert store.outbox.register(EVERYTHING) == 0


async def test_of_too_many_consumers_the_one_that_came_first_is_forgotten(durable):
    async with durable.opened() as store:
        for number in range(MOST_CONSUMERS + 1):
            store.outbox.register(Consumer(name=f"consumer {number}"))
        await settled(durable, store, "task_1")
    async with durable.opened() as store:
        await store.flush()
        assert pending(store, Consumer(name="consumer 0")) == []
        assert pending(store, Consumer(name="consumer 1")) == ["task_1"]


async def test_who_follows_is_woken_by_what_settles(stores):
    woken = []
    async with stores.opened() as store:
        with store.outbox.follow(lambda: woken.append(1)):
            await settled(stores, store, "task_1")
            assert woken
        count = len(woken)
        await settled(stores, store, "task_2")
        assert len(woken) == count
