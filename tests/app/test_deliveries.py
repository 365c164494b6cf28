"""Deliveries: what settles reaches a named consumer, is acknowledged once, and comes again until it is."""

import random

import anyio
import pytest

from ohm_subagents import Delivery, Ohm
from ohm_subagents.store import MemoryStore
from ohm_subagents.testing import HERMETIC, ScriptedBackend, Step, quick_ohm

pytestmark = pytest.mark.anyio


def opened(directory, **options):
    env = HERMETIC | {"PI_CONFIG_DIR": f"{directory}", "OHM_SUBAGENTS_STORE": "sqlite"}
    backend = ScriptedBackend(default=Step(text="done"))
    return Ohm.open(env=env, config={"subagentBackend": "scripted"}, plugins=[backend], **options)


async def taken(deliveries, count):
    return [await anext(deliveries) for _ in range(count)]


async def test_what_settles_is_delivered_with_all_that_a_parent_needs():
    async with quick_ohm("It is in _views/answer.py.") as ohm:
        deliveries = ohm.deliveries("parent")
        call = await ohm.begin(
            "task", {"op": "start", "subagent_type": "finder", "description": "Look", "prompt": "where?"}
        )
        await call.wait()
        delivery = await anext(deliveries)
        assert isinstance(delivery, Delivery)
        assert (delivery.task_id, delivery.status, delivery.call) == ("task_1", "succeeded", call.id)
        assert delivery.session_id == delivery.task.session_id
        assert delivery.envelope.output == "It is in _views/answer.py."
        head, opening, answer, end = delivery.text.splitlines()
        assert head == "task task_1 (finder · Look) succeeded"
        assert opening.startswith('<task_output id="task_1" sha256="')
        assert (answer, end) == ("It is in _views/answer.py.", "</task_output>")


async def test_an_acknowledged_delivery_never_comes_again_and_another_does():
    async with quick_ohm() as ohm:
        first, second = ohm.deliveries("one"), ohm.deliveries("two")
        for _ in range(2):
            await ohm.run("finder", "p")
        one, other = await taken(first, 2)
        await other.ack()
        await other.ack()
        assert [each.task_id for each in ohm.deliveries("one").pending()] == [one.task_id]
        assert [each.task_id for each in second.pending()] == ["task_1", "task_2"]


async def test_a_consumer_waits_for_the_next_and_ends_with_its_ohm():
    seen = []

    async def consume(deliveries):
        async for delivery in deliveries:
            seen.append(delivery.task_id)
            await delivery.ack()
        seen.append("over")

    async with anyio.create_task_group() as group, quick_ohm() as ohm:
        group.start_soon(consume, ohm.deliveries("parent"))
        for number in range(3):
            await ohm.run("finder", "p")
            await anyio.wait_all_tasks_blocked()
            assert len(seen) == number + 1
    assert seen == ["task_1", "task_2", "task_3", "over"]


async def test_a_consumer_may_choose_a_session_or_its_own_calls():
    async with quick_ohm() as ohm:
        of_session, of_calls = ohm.deliveries("a", session="s1"), ohm.deliveries("b", calls="chat-7/")
        await ohm.run("finder", "p")
        await ohm.run("finder", "p", session="s1")
        await (await ohm.begin("task", START, call_id="chat-7/1")).wait()
        assert [each.task_id for each in of_session.pending()] == ["task_2"]
        assert [each.task_id for each in of_calls.pending()] == ["task_3"]


START = {"op": "start", "subagent_type": "finder", "description": "d", "prompt": "p"}


@pytest.mark.parametrize("name", ["", "  ", "two\nlines", 7, "x" * 201])
async def test_a_name_that_is_none_is_refused_in_one_sentence(name):
    async with quick_ohm() as ohm:
        with pytest.raises(ValueError, match="allowed: a name of 1 to 200 printable characters"):
            ohm.deliveries(name)


class WithoutOutbox(MemoryStore):
    """A store of others, from before there were outboxes."""

    def __init__(self):
        super().__init__(lambda: 0)
        del self.outbox

    def save(self, task, event):
        self._tasks[task.id] = task


async def test_a_store_without_an_outbox_delivers_in_this_process_and_says_so():
    backend = ScriptedBackend(default=Step(text="done"))
    async with Ohm.open(
        env=HERMETIC, config={"subagentBackend": "scripted"}, plugins=[backend], store=WithoutOutbox()
    ) as ohm:
        assert ohm.diagnostics == ()
        deliveries = ohm.deliveries("parent")
        await ohm.run("finder", "p")
        delivery = await anext(deliveries)
        await delivery.ack()
        assert ohm.deliveries("parent").pending() == ()
        (told,) = ohm.diagnostics
    assert told.message == (
        "The store WithoutOutbox has no outbox: what is not delivered when this process ends is never delivered."
    )


async def test_after_a_restart_only_what_was_not_acknowledged_comes_again(tmp_path):
    async with opened(tmp_path) as ohm:
        deliveries = ohm.deliveries("parent")
        ids = [(await ohm.run("finder", "p")).ok_value.task_id for _ in range(3)]
        first, *_ = await taken(deliveries, 3)
        await first.ack()
    async with opened(tmp_path) as ohm:
        again = await taken(ohm.deliveries("parent"), 2)
        assert [each.task_id for each in again] == ids[1:]
        ohm.forget_consumer("parent")


async def test_thirty_completions_reach_a_consumer_that_is_restarted_three_times(tmp_path):
    """Each is delivered, acknowledged once, and in order in its session."""
    chance, delivered, acknowledged = random.Random(1), [], []

    async def consume(ohm, patience):
        async for delivery in ohm.deliveries("parent"):
            assert delivery.task_id not in acknowledged
            delivered.append((delivery.session_id, delivery.task_id))
            if not patience:
                return
            patience -= 1
            await delivery.ack()
            acknowledged.append(delivery.task_id)
            if len(acknowledged) == 30:
                return

    started = []
    for round_ in range(4):
        async with opened(tmp_path) as ohm, anyio.create_task_group() as group:
            group.start_soon(consume, ohm, 99 if round_ == 3 else chance.randint(3, 8))
            for number in range(0 if round_ == 3 else 10):
                answer = await ohm.run("finder", "p", session=f"session_{number % 3}")
                started.append((f"session_{number % 3}", answer.ok_value.task_id))
    assert sorted(acknowledged) == sorted(task_id for _, task_id in started)
    for session in {session for session, _ in started}:
        in_order = [task_id for each, task_id in started if each == session]
        assert list(dict.fromkeys(task_id for each, task_id in delivered if each == session)) == in_order


def test_code_without_an_event_loop_iterates_too():
    backend = ScriptedBackend(default=Step(text="done"))
    with Ohm.sync(env=HERMETIC, config={"subagentBackend": "scripted"}, plugins=[backend]) as ohm:
        deliveries = ohm.deliveries("parent")
        envelope = ohm.run("finder", "p").ok_value
        delivery = next(deliveries)
        assert (delivery.task.id, delivery.envelope.output) == (envelope.task_id, "done")
        assert "<task_output" in delivery.text
        delivery.ack()
        assert delivery.sequence == 1
        ohm.forget_consumer("parent")
