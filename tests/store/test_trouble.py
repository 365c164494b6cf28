"""The default store when something breaks: what is kept, what is told, and that nobody waits for ever."""

import resource
import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest
from made_tasks import with_fields
from store_tasks import Clock, Hand, opened

from ohm_subagents.contract import (
    AccountCharged,
    RunEnded,
    Succeeded,
    TaskSettled,
    TextDelta,
    Usage,
    UsageAdded,
    apply,
)
from ohm_subagents.store import TaskQuery, WriterQueue, history_of_log, log_lines

pytestmark = pytest.mark.anyio
DONE = (RunEnded(outcome=Succeeded(), output="done"), TaskSettled(outcome=Succeeded()))


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def registry(tmp_path, clock):
    def open_it(*, fault_point=lambda _step: None):
        return opened("sqlite", tmp_path, clock, fault_point=fault_point)

    return open_it


async def test_an_event_that_cannot_be_written_costs_itself_only(registry, clock):
    async with registry() as store:
        hand = Hand(store, clock)
        task = hand.started("task_1", TextDelta(text="before "))
        store.save(task, TextDelta(text=7))
        store.save(task, TextDelta(text=8))
        hand.tell(task, TextDelta(text="after"))
        hand.settled("task_2", TextDelta(text="other"))
        await store.flush()
        (told,) = store.diagnostics
        assert told.message.startswith("Not all of task 'task_1' can be written; what cannot is not kept:")
        hand.settled("task_3")
        await store.flush()
    async with registry() as store:
        assert [task.id for task in store.tasks()] == ["task_1", "task_2", "task_3"]
        assert store.get("task_1").ok_value.text == "before after"
        assert store.get("task_2").ok_value.text == "other"


@pytest.mark.parametrize("wrong", [{"session_id": object()}, {"session_id": "\ud800"}, {"created_ms": 2**80}])
async def test_a_task_that_makes_no_row_costs_itself_only(registry, clock, wrong):
    async with registry() as store:
        hand = Hand(store, clock)
        task = with_fields(hand.started("task_1"), id="task_bad", updated_ms=2**80, **wrong)
        store.save(task, DONE[0])
        store.save(task, DONE[0])
        hand.settled("task_2")
        await store.flush()
        (told,) = store.diagnostics
        assert "'task_bad'" in told.message
    async with registry() as store:
        assert [task.id for task in store.tasks()] == ["task_1", "task_2"]


async def test_a_batch_that_breaks_the_writer_is_named_and_the_next_is_written(registry, clock):
    breaks = threading.Event()

    def fault_point(step):
        if step == "before commit" and breaks.is_set():
            raise RuntimeError("unheard of")

    async with registry(fault_point=fault_point) as store:
        breaks.set()
        Hand(store, clock).settled("task_1")
        await store.flush()
        breaks.clear()
        Hand(store, clock).settled("task_2")
        await store.flush()
        (told,) = store.diagnostics
        assert "'task_1'" in told.message
        assert "unheard of" in told.message
    async with registry() as store:
        assert [task.id for task in store.tasks()] == ["task_2"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_flush_without_a_writer_says_so_and_does_not_wait(registry, clock):
    ends = threading.Event()

    def fault_point(step):
        if step == "before commit" and ends.is_set():
            raise SystemExit

    async with registry(fault_point=fault_point) as store:
        ends.set()
        Hand(store, clock).settled("task_1")
        await store.flush()
        store._writer._thread.join()
        Hand(store, clock).settled("task_2")
        await store.flush()
        await store.flush()
        assert [told.message for told in store.diagnostics] == [
            "Tasks are kept in memory only: the thread that wrote them has ended."
        ]
        assert store.get("task_2").ok_value.output == "done"


async def test_a_full_disk_is_told_once_and_is_tried_again_with_each_heartbeat_only(registry, clock, monkeypatch):
    from ohm_subagents.stores.sqlite import writer

    monkeypatch.setattr(writer, "HEARTBEAT_S", 0.2)
    tries, full = [], threading.Event()

    def fault_point(step):
        if step == "before commit" and full.is_set():
            tries.append(step)
            raise OSError(28, "No space left on device")

    async with registry(fault_point=fault_point) as store:
        full.set()
        Hand(store, clock).settled("task_1")
        await store.flush()
        before = len(tries)
        used = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        threading.Event().wait(1)  # of real time, for the thread
        assert 1 <= len(tries) - before <= 10
        assert resource.getrusage(resource.RUSAGE_SELF).ru_utime - used < 0.5
        assert len(store.diagnostics) == 1
        full.clear()


async def test_what_could_not_be_appended_is_made_good_when_the_disk_has_healed(registry, clock):
    full = threading.Event()

    def fault_point(step):
        if step == "before transaction" and full.is_set():
            raise OSError(28, "No space left on device")

    async with registry(fault_point=fault_point) as store:
        hand = Hand(store, clock)
        task = hand.started("task_1", TextDelta(text="one "))
        await store.flush()
        full.set()
        for number in range(200):
            task = hand.tell(task, TextDelta(text=f"{number} "))
            await store.flush()
        (told,) = store.diagnostics
        assert "No space left on device" in told.message
        full.clear()
        task = hand.tell(task, TextDelta(text="last"), *DONE)
    async with registry() as store:
        after = store.get("task_1").ok_value
        assert after.text == task.text
        assert after.activity.event_total == task.activity.event_total == 202


async def test_what_was_streamed_last_before_the_disk_healed_needs_no_further_event(registry, clock):
    full = threading.Event()

    def fault_point(step):
        if step == "before transaction" and full.is_set():
            raise OSError(28, "No space left on device")

    async with registry(fault_point=fault_point) as store:
        full.set()
        Hand(store, clock).settled("task_1", TextDelta(text="all of it"))
        await store.flush()
        full.clear()
    async with registry() as store:
        assert store.get("task_1").ok_value.text == "all of it"


class Nowhere:
    save = staticmethod(lambda _task, _event: None)


@contextmanager
def taken_often(queue):
    """The batches of a queue that another thread takes again and again; all of them once this is left."""
    batches, is_over = [], threading.Event()

    def take():
        while not is_over.is_set():
            batches.append(queue.take())
        batches.append(queue.take())

    taker = threading.Thread(target=take)
    taker.start()
    yield batches
    is_over.set()
    taker.join()


@pytest.mark.parametrize("events", [3_000, pytest.param(20_000, marks=pytest.mark.slow)])
def test_no_event_is_lost_or_taken_twice_however_often_it_is_taken(clock, monkeypatch, events):
    from ohm_subagents._store import writer_queue

    monkeypatch.setattr(writer_queue, "MANY", 3)
    queue = WriterQueue()
    with taken_often(queue) as batches:
        task = Hand(Nowhere(), clock).started("task_1")
        for number in range(events):
            event = TextDelta(text=f"{number} ")
            task = apply(task, event, at_ms=clock())
            queue.save(task, event)
    log = b"".join(
        log_lines(changes.entries, lambda _: None) for batch in batches for changes in batch.changes.values()
    )
    assert [one.event.text for one in history_of_log(log)] == [f"{number} " for number in range(events)]


def test_what_several_tasks_were_charged_at_once_is_taken_at_once_however_often_it_is_taken(clock):
    queue = WriterQueue()
    with taken_often(queue) as batches:
        parent, child = (Hand(Nowhere(), clock).started(name) for name in ("task_1", "task_2"))
        used = Usage(requests=1)
        for _ in range(2000):
            child = apply(child, UsageAdded(usage=used), at_ms=clock())
            parent = apply(parent, AccountCharged(usage=used), at_ms=clock())
            queue.save_all([(child, UsageAdded(usage=used)), (parent, AccountCharged(usage=used))])
    for changes in (batch.changes for batch in batches if batch.changes):
        assert len(changes["task_1"].entries) == len(changes["task_2"].entries)
        assert changes["task_1"].task.activity.tree_usage == changes["task_2"].task.activity.usage


async def test_a_snapshot_whose_import_is_not_written_is_taken_in_the_next_time(registry, clock, tmp_path):
    async with opened("snapshot", tmp_path, clock) as snapshot:
        Hand(snapshot, clock).settled("task_1", TextDelta(text="told"))

    def fault_point(step):
        if step == "before commit":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        async with registry(fault_point=fault_point):
            pass
    async with registry() as store:
        assert store.get("task_1").ok_value.text == "told"
    async with registry() as store:
        assert [task.id for task in store.tasks()] == ["task_1"]
        assert store.diagnostics == ()


async def test_a_file_that_is_damaged_while_it_is_open_leaves_what_is_in_memory(registry, clock, tmp_path):
    async with registry() as store:
        Hand(store, clock).settled("task_0")
    async with registry() as store:
        Hand(store, clock).settled("task_1")
        await store.flush()
        for file in tmp_path.glob("ohm.subagents.tasks.sqlite3*"):
            file.write_bytes(b"x" * file.stat().st_size)
        assert str(store.get("task_0").err_value.code) == "unknown_task_id"
        assert store.get("task_1").ok_value.output == "done"
        assert [task.id for task in store.recent()] == ["task_1"]
        assert [task.id for task in store.tasks()] == ["task_1"]
        assert not store.is_foreign("task_0")
        assert store.owner("task_0") == "elsewhere"
        assert [*store.list(TaskQuery())] == []
        assert store.count() >= 1
        assert sum("cannot be read" in told.message for told in store.diagnostics) == 1


async def test_an_id_that_is_no_text_is_unknown(registry):
    async with registry() as store:
        assert str(store.get("\ud800").err_value.code) == "unknown_task_id"
        assert not store.is_foreign("\ud800")
        assert store.diagnostics == ()


async def test_a_directory_that_vanishes_is_told_once_and_nothing_is_called_written(registry, clock, tmp_path):
    import shutil

    async with registry() as store:
        hand = Hand(store, clock)
        hand.settled("task_0", TextDelta(text="gone"))
        await store.flush()
        for path in tmp_path.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for number in range(1, 4):
            hand.settled(f"task_{number}", TextDelta(text="here"))
            await store.flush()
        (told,) = store.diagnostics
        assert "was removed or replaced while it was open" in told.message
        assert store._writer.written_count < store._queue.put_count
        assert store.get("task_1").ok_value.text == "here"


async def test_a_value_that_no_snapshot_can_hold_is_told_once(tmp_path, clock):
    async with opened("snapshot", tmp_path, clock) as store:
        hand = Hand(store, clock)
        good = hand.started("task_1")
        store.save(replace(good, summary=object()), DONE[0])
        await store.flush()
        await store.flush()
        (told,) = store.diagnostics
        assert "could not be written" in told.message
        hand.tell(good, *DONE)
        await store.flush()
    async with opened("snapshot", tmp_path, clock) as store:
        assert store.get("task_1").ok_value.status == "succeeded"
