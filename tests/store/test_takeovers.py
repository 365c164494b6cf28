"""A task whose process has died while it waited for an answer is taken over once, by a store that can write it."""

import sqlite3

import pytest
from store_tasks import Clock, FullDisk, Hand, opened

from ohm_subagents.contract import AnswerAwaited, AnswerGiven, Approve, Cancelled, Request, RunEnded, TextDelta, apply
from ohm_subagents.store import SentCommand

pytestmark = pytest.mark.anyio
FILE = "ohm.subagents.tasks.sqlite3"


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def registry(tmp_path, clock):
    """Opens the store in this test's directory."""

    def open_it(*, fault_point=lambda _step: None):
        return opened("sqlite", tmp_path, clock, fault_point=fault_point)

    return open_it


def written(tmp_path, statement):
    connection = sqlite3.connect(tmp_path / FILE)
    try:
        with connection:
            return connection.execute(statement).fetchall()
    finally:
        connection.close()


def end_processes(tmp_path, *stores):
    """Let the owners of stores be processes that are long gone."""
    numbers = ",".join(str(store._owner.id) for store in stores)
    written(tmp_path, f"UPDATE owners SET started = 'long ago' WHERE id IN ({numbers})")


async def asking(store, clock, task_id="task_1"):
    """A task that waits for an answer."""
    task = Hand(store, clock).started(task_id)
    request = Request(id=f"req_1_{task_id}", task_id=task.id, session_id=task.session_id, path=(task.id,), profile="f")
    task = Hand(store, clock).tell(task, AnswerAwaited(request=request))
    await store.flush()
    return task


async def adopted(store, task):
    """Take the task over with an answer; True if that succeeds."""
    given = AnswerGiven(request_id=task.requests[0].id, answer=Approve(), by="program")
    events = (given, RunEnded(outcome=Cancelled(reason="died"), output=""))
    after = task
    for event in events:
        after = apply(after, event, at_ms=task.updated_ms)
    return await store.requests.adopt(task, after, events)


async def test_of_two_stores_that_take_over_one_task_the_first_has_it_and_the_other_never(registry, clock, tmp_path):
    async with registry() as dead, registry() as first, registry() as second:
        task = await asking(dead, clock)
        end_processes(tmp_path, dead)
        read = [store.get(task.id).ok_value for store in (first, second)]
        assert await adopted(first, read[0])
        assert not await adopted(second, read[1]), "the first is at work"
        end_processes(tmp_path, first)
        assert not await adopted(second, read[1]), "the first has died, but not before it went on"
        assert second.get(task.id).ok_value.status == "failed"
    assert written(tmp_path, "SELECT count(*) FROM tasks") == [(1,)]


async def test_a_task_that_cannot_be_written_is_not_taken_over_now_or_later(registry, clock, tmp_path):
    disk = FullDisk()
    async with registry() as dead, registry(fault_point=disk) as store:
        task = await asking(dead, clock)
        end_processes(tmp_path, dead)
        read = store.get(task.id).ok_value
        disk.is_full.set()
        assert not await adopted(store, read)
        assert store.get(task.id).ok_value.requests == read.requests
        disk.is_full.clear()
        Hand(store, clock).settled("task_2")
        await store.flush()
        assert written(tmp_path, f"SELECT owner FROM tasks WHERE id = '{task.id}'") == [(dead._owner.id,)]
        assert await adopted(store, read)


async def test_a_task_that_was_lost_and_is_taken_over_again_is_written_again(registry, clock, tmp_path):
    async with registry() as dead, registry() as store, registry() as reader:
        task = await asking(store, clock)
        written(tmp_path, f"UPDATE tasks SET owner = {dead._owner.id}")
        lost = Hand(store, clock).tell(task, TextDelta(text="lost"))
        await store.flush()
        end_processes(tmp_path, dead)
        assert await adopted(store, lost)
        Hand(store, clock).tell(store.get(task.id).ok_value, TextDelta(text="kept"))
        await store.flush()
        assert reader.get(task.id).ok_value.text == "kept"


async def test_a_command_goes_to_whoever_runs_its_task_by_then(registry, clock, tmp_path):
    async with registry() as dead, registry() as sender, registry() as heir:
        task = await asking(dead, clock)
        sent = SentCommand(id="c1", task_id=task.id, command="{}")
        sender.control.send(sent)
        await sender.flush()
        assert (dead.control.received(), heir.control.received()) == ((sent,), ())
        assert sender.control.state("c1").status == "waiting"
        end_processes(tmp_path, dead)
        assert sender.control.state("c1").status == "missed"
        assert heir.control.left(task.id) == (sent,)
        assert await adopted(heir, task)
        assert heir.control.received() == (sent,)
        heir.control.take("c1")
        await heir.flush()
        assert sender.control.state("c1").status == "taken"
        end_processes(tmp_path, heir)
        assert sender.control.state("c1").status == "lost"
