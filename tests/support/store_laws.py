"""Laws of the commands that a store passes on, and of its log; those of its tasks are `StoreConformance`.

A module of tests takes them all in, with a fixture `stores` of its own.
"""

from decimal import Decimal

import pytest
from store_tasks import Clock, Hand, opened

from ohm_subagents.contract import (
    Cancelled,
    Ok,
    RunEnded,
    Succeeded,
    TaskSettled,
    TextDelta,
    Usage,
    UsageAdded,
    WorkspaceKept,
)
from ohm_subagents.store import CommandState, RetentionPolicy, SentCommand, TaskQuery

pytestmark = pytest.mark.anyio


class Stores:
    """One kind of store in one directory; `hand` saves to the store that is open."""

    def __init__(self, kind, directory):
        self.kind = kind
        self.clock = Clock()
        self.directory = directory

    def opened(self, **policy):
        return opened(self.kind, self.directory, self.clock, policy=RetentionPolicy(**policy))

    def hand(self, store):
        return Hand(store, self.clock)


def found(store, *ids):
    answers = [store.get(task_id) for task_id in ids]
    return [answer.ok_value.status if isinstance(answer, Ok) else str(answer.err_value.code) for answer in answers]


async def test_a_command_is_received_once_and_its_reply_kept_until_it_is_withdrawn(stores):
    async with stores.opened() as store:
        stores.hand(store).started("task_1")
        await store.flush()
        sent = [SentCommand(id=f"c{number}", task_id="task_1", command="日本 \\ {}") for number in (1, 2)]
        for each in sent:
            store.control.send(each)
        await store.flush()
        assert store.control.received() == store.control.left("task_1") == tuple(sent)
        assert store.control.state("c1").status == "waiting"
        store.control.take("c1")
        await store.flush()
        assert store.control.received() == (sent[1],)
        assert store.control.state("c1").status == "taken"
        store.control.reply("c1", "done")
        await store.flush()
        assert store.control.state("c1") == CommandState(status="answered", reply="done")
        for each in sent:
            store.control.withdraw(each.id)
        await store.flush()
        assert [store.control.state(each.id).status for each in sent] == ["missed", "missed"]
        assert store.control.received() == ()


async def test_a_command_that_is_withdrawn_while_it_is_carried_out_is_missed(stores):
    async with stores.opened() as store:
        stores.hand(store).started("task_1")
        await store.flush()
        store.control.send(SentCommand(id="c1", task_id="task_1", command="{}"))
        store.control.take("c1")
        await store.flush()
        store.control.withdraw("c1")
        store.control.reply("c1", "too late")
        await store.flush()
        assert store.control.state("c1").status == "missed"


async def test_a_command_is_never_received_by_a_later_task_of_the_same_id(stores):
    async with stores.opened(retention_ms=100) as store:
        hand = stores.hand(store)
        task = hand.started("task_1")
        await store.flush()
        store.control.send(SentCommand(id="c1", task_id="task_1", command="{}"))
        await store.flush()
        hand.tell(task, RunEnded(outcome=Succeeded()), TaskSettled(outcome=Succeeded()))
        await store.flush()
        assert (store.control.received(), store.control.state("c1").status) == ((), "missed")
        store.control.send(SentCommand(id="c2", task_id="task_1", command="{}"))
        await store.flush()
        stores.clock.now += 100
        assert found(store, "task_1") == ["task_expired"]
        hand.new("task_1")
        await store.flush()
        assert (store.control.received(), store.control.left("task_1")) == ((), ())
        assert store.control.state("c2").status == "missed"


async def test_a_log_is_read_on_from_where_the_last_reading_has_ended(stores):
    async with stores.opened() as store:
        if not hasattr(store, "log"):  # one process writes it, and nobody else follows
            return
        hand = stores.hand(store)
        task = hand.started("task_1", TextDelta(text="so "))
        await store.flush()
        begun, position = await store.log.after("task_1", 0)
        assert [one.event.kind for one in begun] == ["task_queued", "run_started", "text_delta"]
        assert await store.log.after("task_1", position) == ((), position)
        hand.tell(task, TextDelta(text="far"), RunEnded(outcome=Succeeded()), TaskSettled(outcome=Succeeded()))
        await store.flush()
        rest, position = await store.log.after("task_1", position)
        assert [one.event.kind for one in rest] == ["text_delta", "run_ended", "task_settled"]
        assert (*begun, *rest) == await store.history(store.get("task_1").ok_value)


async def test_the_record_of_work_that_landed_after_the_end_is_told_and_kept(stores):
    kept = WorkspaceKept(base="b", ref="refs/ohm/task_1", files=1, insertions=1, deletions=0, landed="clean")
    async with stores.opened() as store:
        hand = stores.hand(store)
        task = hand.tell(hand.started("task_1"), RunEnded(outcome=Succeeded()), TaskSettled(outcome=Succeeded()))
        await store.flush()
        position = (await store.log.after("task_1", 0))[1] if hasattr(store, "log") else 0
        hand.tell(task, kept)
        await store.flush()
        if hasattr(store, "log"):
            assert [one.event for one in (await store.log.after("task_1", position))[0]] == [kept]
        newest = store.get("task_1").ok_value
        assert (newest.status, newest.activity.workspace) == ("succeeded", kept)
        assert [one.event for one in await store.history(newest)][-1] == kept


async def test_what_was_used_for_a_task_after_its_end_is_kept_and_listed(stores):
    used = Usage(input_tokens=7, cost_usd=Decimal("0.5"))
    async with stores.opened() as store:
        hand = stores.hand(store)
        cut_off = TaskSettled(outcome=Cancelled(reason="Enough."))
        task = hand.tell(hand.started("task_1", UsageAdded(usage=Usage(requests=1))), cut_off)
        await store.flush()
        hand.tell(task, UsageAdded(usage=used))
        await store.flush()
        total = Usage(requests=1) + used
        assert [one.ok_value.usage for one in store.list(TaskQuery())] == [total]
        assert store.get("task_1").ok_value.activity.usage == total


async def test_what_was_used_for_a_task_that_was_removed_since_its_end_brings_it_not_back(stores):
    async with stores.opened(retention_ms=100) as store:
        hand = stores.hand(store)
        task = hand.tell(hand.started("task_1"), TaskSettled(outcome=Cancelled(reason="Enough.")))
        await store.flush()
        stores.clock.now += 100
        assert found(store, "task_1") == ["task_expired"]
        hand.tell(task, UsageAdded(usage=Usage(input_tokens=7)))
        await store.flush()
        assert found(store, "task_1") == ["task_expired"]
        assert store.diagnostics == ()
