"""Sessions as every store keeps them: their tasks, and the whole history of each."""

import anyio
import pytest
from store_tasks import Clock, Hand, opened

from ohm_subagents.contract import (
    RunEnded,
    RunStarted,
    Succeeded,
    TaskQueued,
    TaskSettled,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
)
from ohm_subagents.stores.sqlite import store as sqlite_store

pytestmark = pytest.mark.anyio
ODD = ("a3f7b9c2d1e8f4a1", "", "'; DROP TABLE tasks; --", "nul\0", "日本", "x" * 100_000)
CALL = (
    ToolStarted(call_id="1", tool="read", args='{"path":"a.py"}'),
    ToolEnded(call_id="1", tool="read", status="success", text="x = 1"),
)
WORK = (ThinkingDelta(text="hm"), TextDelta(text="I "), TextDelta(text="look."), *CALL, TextDelta(text="Done."))
END = (RunEnded(outcome=Succeeded(), output="done"), TaskSettled(outcome=Succeeded()))


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(params=["sqlite", "snapshot", "memory"])
def store_kind(request):
    return request.param


async def events(store, task):
    return [one.event for one in await store.history(task)]


@pytest.mark.parametrize("session", ODD)
async def test_a_session_may_have_any_id(tmp_path, store_kind, session):
    clock = Clock()
    async with opened(store_kind, tmp_path, clock) as store:
        hand = Hand(store, clock)
        hand.settled("task_1", session=session)
        hand.settled("task_2", session="another")
        hand.started("task_3", session=session)
        await store.flush()

        assert [task.id for task in store.session(session)] == ["task_1", "task_3"]
        assert store.session("nobody's") == store.session("\udcff") == ()


async def test_a_session_is_found_by_its_index(tmp_path):
    clock = Clock()
    async with opened("sqlite", tmp_path, clock) as store:
        Hand(store, clock).settled()
        asked = []
        store._reader._connection.set_trace_callback(asked.append)
        store.session("session_1")
        store._reader._connection.set_trace_callback(None)
        [statement] = asked
        [plan] = [
            row
            for row in store._reader._connection.execute(f"EXPLAIN QUERY PLAN {statement}")
            if " tasks " in f" {row[3]} "
        ]

    assert "USING INDEX tasks_by_session" in plan[3]


async def test_the_history_of_a_running_task_is_whole(tmp_path, store_kind):
    clock = Clock()
    async with opened(store_kind, tmp_path, clock) as store:
        task = Hand(store, clock).started("task_1", *WORK)
        told = await events(store, task)

    said = [event for event in WORK if store_kind == "sqlite" or not isinstance(event, ThinkingDelta)]
    assert told == [TaskQueued(), RunStarted(prompt="p"), *said]


async def test_the_history_of_a_settled_task_is_whole_also_after_a_restart(tmp_path):
    clock = Clock()
    async with opened("sqlite", tmp_path, clock) as store:
        task = Hand(store, clock).settled("task_1", *WORK)
        before = await events(store, task)
    async with opened("sqlite", tmp_path, clock) as store:
        [task] = store.session("session_1")
        after = await events(store, task)

    assert before == after == [TaskQueued(), RunStarted(prompt="p"), *WORK, *END]


async def test_of_a_long_task_a_store_without_a_log_tells_the_newest_all_calls_and_all_words(tmp_path):
    clock = Clock()
    words = tuple(TextDelta(text=f"{n} ") for n in range(200))
    async with opened("memory", tmp_path, clock) as store:
        task = Hand(store, clock).settled("task_1", *CALL, *words)
        told = await events(store, task)

    said = [event.text for event in told if isinstance(event, TextDelta)]
    assert [event for event in told if not isinstance(event, TextDelta)] == [
        TaskQueued(),
        RunStarted(prompt="p"),
        *CALL,
        *END,
    ]
    assert "".join(said) == "".join(word.text for word in words)
    assert len(said) == task.activity.max_events + 1


async def test_each_run_has_its_own_events(tmp_path):
    clock = Clock()
    async with opened("memory", tmp_path, clock) as store:
        hand, first, second = Hand(store, clock), TextDelta(text="a"), TextDelta(text="b")
        task = hand.started("task_1", first)
        clock.now += 1
        task = hand.tell(task, END[0])
        clock.now += 1
        task = hand.tell(task, RunStarted(prompt="q"), second)
        told = await events(store, task)

    assert told == [TaskQueued(), RunStarted(prompt="p"), first, END[0], RunStarted(prompt="q"), second]


async def test_what_a_disk_cannot_take_is_told_from_memory(tmp_path):
    def full(step):
        if step == "before commit" and is_full:
            raise OSError(28, "No space left on device")

    is_full, clock = False, Clock()
    async with opened("sqlite", tmp_path, clock, fault_point=full) as store:
        is_full = True
        task = Hand(store, clock).started("task_1", *WORK)
        told = await events(store, task)

    assert told == [TaskQueued(), RunStarted(prompt="p"), *WORK[1:]]


async def test_a_history_is_read_in_a_thread_while_the_event_loop_goes_on(tmp_path, monkeypatch):
    clock = Clock()
    async with opened("sqlite", tmp_path, clock) as store:
        task = Hand(store, clock).settled("task_1", *WORK)
        steps, read = [], sqlite_store.history_of_log
        went_on = anyio.Event()

        def slow(log):
            anyio.from_thread.run(went_on.wait)
            steps.append("read")
            return read(log)

        monkeypatch.setattr(sqlite_store, "history_of_log", slow)
        async with anyio.create_task_group() as group:
            group.start_soon(store.history, task)
            await anyio.wait_all_tasks_blocked()
            steps.append("went on")
            went_on.set()

    assert steps == ["went on", "read"]
