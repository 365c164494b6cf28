"""What every store promises; the durable ones also after they were opened anew."""

from decimal import Decimal

import pytest
from store_tasks import Clock, Hand, opened

from ohm_subagents.contract import (
    Cancelled,
    ErrorCode,
    Failed,
    FollowUpTaken,
    OhmError,
    Ok,
    RunEnded,
    RunStarted,
    Succeeded,
    TaskSettled,
    TextDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    UsageAdded,
)
from ohm_subagents.contract.usage import Usage
from ohm_subagents.store import ListedTask, RetentionPolicy, TaskQuery

pytestmark = pytest.mark.anyio
ALL, DURABLE = ("sqlite", "snapshot", "memory"), ("sqlite", "snapshot")


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


@pytest.fixture(params=ALL)
def stores(request, tmp_path):
    return Stores(request.param, tmp_path / "registry")


@pytest.fixture(params=DURABLE)
def durable(request, tmp_path):
    return Stores(request.param, tmp_path / "registry")


def found(store, *ids):
    answers = [store.get(task_id) for task_id in ids]
    return [answer.ok_value.status if isinstance(answer, Ok) else str(answer.err_value.code) for answer in answers]


def why(store, task_id):
    return store.get(task_id).err_value.message


async def test_the_newest_state_is_there_at_once_and_after_a_flush(stores):
    async with stores.opened() as store:
        task = stores.hand(store).started("task_1", TextDelta(text="so "), TextDelta(text="far"))
        assert store.get("task_1").ok_value is task
        await store.flush()
        assert store.get("task_1").ok_value == task
        settled = stores.hand(store).tell(
            task, RunEnded(outcome=Succeeded(), output="o"), TaskSettled(outcome=Succeeded())
        )
        assert store.get("task_1").ok_value == settled


async def test_tasks_are_listed_oldest_first_and_by_session(stores):
    async with stores.opened() as store:
        hand = stores.hand(store)
        for number, session in enumerate(("session_a", "session_b", "session_a")):
            hand.settled(f"task_{number}", session=session)
        await store.flush()
        hand.new("task_3", session="session_a")
        assert [task.id for task in store.tasks()] == ["task_0", "task_1", "task_2", "task_3"]
        assert [task.id for task in store.session("session_a")] == ["task_0", "task_2", "task_3"]
        assert [task.id for task in store.recent()] == ["task_0", "task_1", "task_2", "task_3"]
        await store.flush()
        assert store.count() == 4


async def test_a_list_shows_each_task_as_it_is_newest_first(stores):
    call = ToolEnded(call_id="1", tool="read", status="success", text="x")
    usage = UsageAdded(usage=Usage(requests=2, input_tokens=7, cost_usd=Decimal("0.012")))
    async with stores.opened() as store:
        hand = stores.hand(store)
        hand.settled("task_1", usage, call, profile="Finder", description="odd\0 日本")
        hand.started("task_2", usage)
        hand.new("task_3")
        await store.flush()
        tasks = [*store.tasks()]
        assert [one.ok_value for one in store.list(TaskQuery())] == [ListedTask.of(task) for task in reversed(tasks)]
    async with stores.opened() as store:
        tasks = [*store.tasks()]
        assert [one.ok_value for one in store.list(TaskQuery())] == [ListedTask.of(task) for task in reversed(tasks)]


async def test_the_tasks_of_a_call_are_found_by_its_id(stores):
    async with stores.opened() as store:
        hand = stores.hand(store)
        hand.settled("task_1", call='a "call"')
        hand.settled("task_2", call="another", description='"call": "a \\"call\\""')
        hand.settled("task_3")
        hand.started("task_4", call='a "call"')
        await store.flush()
        of_call = TaskQuery(call='a "call"')
        assert [one.ok_value.id for one in store.list(of_call)] == ["task_4", "task_1"]
        assert store.count(of_call) == 2
        assert [*store.list(TaskQuery(call="a"))] == []


async def test_an_unknown_id_is_told_as_such(stores):
    async with stores.opened() as store:
        assert store.get("task_9").err_value.code == ErrorCode.UNKNOWN_TASK_ID
        assert not store.is_foreign("task_9")


async def test_a_settled_task_is_gone_when_its_time_is_over_and_a_running_one_stays(stores):
    async with stores.opened(retention_ms=100) as store:
        hand = stores.hand(store)
        hand.settled("task_1")
        hand.started("task_2")
        await store.flush()
        stores.clock.now += 99
        assert found(store, "task_1", "task_2") == ["succeeded", "running"]
        stores.clock.now += 1
        assert found(store, "task_1", "task_2") == ["task_expired", "running"]
        assert why(store, "task_1") == "Task id 'task_1' expired by retention policy after 100ms"
        assert [task.id for task in store.tasks()] == ["task_2"]
        hand.new("task_3")
        await store.flush()
        assert found(store, "task_1") == ["task_expired"]
        assert why(store, "task_1") == "Task id 'task_1' expired by retention policy after 100ms"


DAYS_400 = 400 * 86_400_000


async def test_a_clock_that_jumps_ahead_removes_nothing(stores):
    """However often somebody looks at it; when it is set right everything is there."""
    async with stores.opened() as store:
        hand = stores.hand(store)
        for number in range(3):
            hand.settled(f"task_{number}", TextDelta(text="said"))
            stores.clock.now += 1
        await store.flush()
        right = stores.clock.now
        for jump in range(1, 4):
            stores.clock.now = right + jump * DAYS_400
            assert found(store, "task_0", "task_1", "task_2") == ["task_expired"] * 3
            hand.settled(f"task_of_{jump}")
            assert [task.id for task in store.tasks()] == [f"task_of_{jump}"]
            await store.flush()
            assert store.count() == 1
        stores.clock.now = right
        there = {task.id for task in store.tasks()}
        assert there == {"task_0", "task_1", "task_2", "task_of_1", "task_of_2", "task_of_3"}
        assert store.get("task_0").ok_value.text == "said"
        hand.settled("task_3")
        await store.flush()
        assert store.get("task_0").ok_value.text == "said"


async def test_what_is_past_its_time_is_the_first_to_make_room(stores):
    async with stores.opened(retention_ms=100, max_entries=3) as store:
        hand = stores.hand(store)
        hand.settled("task_0")
        stores.clock.now += 100
        for number in range(1, 4):
            hand.settled(f"task_{number}")
            await store.flush()
        assert found(store, "task_0", "task_1", "task_2", "task_3") == ["task_expired"] + ["succeeded"] * 3
        assert why(store, "task_0").endswith("expired by retention policy after 100ms")
        assert store.count() == 3
        stores.clock.now += 100
        hand.settled("task_4")
        await store.flush()
        store.retain(RetentionPolicy(retention_ms=100, max_entries=3))
        await store.flush()
        assert found(store, "task_3", "task_4") == ["task_expired", "succeeded"]


async def test_only_so_many_reasons_are_remembered_of_what_is_past_its_time(stores):
    async with stores.opened(retention_ms=100, max_reasons=1) as store:
        for number in range(3):
            stores.hand(store).settled(f"task_{number}")
        await store.flush()
        stores.clock.now += 100
        found(store, "task_0")
        stores.hand(store).new("task_3")
        await store.flush()
        assert found(store, "task_0", "task_1", "task_2") == ["unknown_task_id", "unknown_task_id", "task_expired"]


async def test_beyond_the_capacity_the_one_that_ended_first_makes_room(stores):
    async with stores.opened(max_entries=2) as store:
        hand = stores.hand(store)
        early = hand.started("task_early")
        stores.clock.now += 1
        hand.settled("task_late")
        stores.clock.now += 1
        hand.tell(early, RunEnded(outcome=Succeeded()), TaskSettled(outcome=Succeeded()))
        hand.new("task_3")
        await store.flush()
        assert found(store, "task_early", "task_late", "task_3") == ["succeeded", "task_expired", "queued"]
        assert why(store, "task_late") == "Task id 'task_late' evicted by capacity policy after reaching max 2 tasks"
        assert store.count() == 2


async def test_tasks_that_run_are_never_evicted(stores):
    async with stores.opened(max_entries=1) as store:
        for number in range(3):
            stores.hand(store).started(f"task_{number}")
        await store.flush()
        assert found(store, "task_0", "task_1", "task_2") == ["running"] * 3


async def test_only_so_many_reasons_are_remembered(stores):
    async with stores.opened(max_entries=1, max_reasons=1) as store:
        for number in range(3):
            stores.hand(store).settled(f"task_{number}")
            await store.flush()
        assert found(store, "task_0", "task_1", "task_2") == ["unknown_task_id", "task_expired", "succeeded"]


async def test_a_new_task_may_have_the_id_of_one_that_is_gone(stores):
    async with stores.opened(retention_ms=100) as store:
        hand = stores.hand(store)
        hand.settled("task_1", TextDelta(text="old"))
        await store.flush()
        stores.clock.now += 100
        assert found(store, "task_1") == ["task_expired"]
        hand.new("task_1")
        await store.flush()
        task = store.get("task_1").ok_value
        assert (task.status, task.text) == ("queued", "")


async def test_a_new_policy_holds_from_now_on(stores):
    async with stores.opened() as store:
        for number in range(3):
            stores.hand(store).settled(f"task_{number}")
        await store.flush()
        store.retain(RetentionPolicy(max_entries=1))
        await store.flush()
        assert found(store, "task_0", "task_1", "task_2") == ["task_expired", "task_expired", "succeeded"]


async def test_a_flush_with_nothing_to_do_returns_at_once(stores):
    async with stores.opened() as store:
        await store.flush()
        stores.hand(store).settled("task_1")
        await store.flush()
        step = store.flush()
        with pytest.raises(StopIteration):
            step.send(None)


async def test_strange_ids_and_texts_are_kept(stores):
    ids = ("../../etc/passwd", "Task 1", "a" * 300, "日本\x00", "task_1.jsonl")
    async with stores.opened() as store:
        for task_id in ids:
            stores.hand(store).settled(task_id, TextDelta(text="\ud800 half"), output="half \udc00 of it")
        await store.flush()
        assert [task.id for task in store.tasks()] == [*ids]
    outside = [path.name for path in stores.directory.parent.iterdir()]
    assert set(outside) <= {"registry"}


# Opened anew


async def test_settled_tasks_survive_a_restart(durable):
    error = OhmError(code=ErrorCode.PROVIDER_TIMEOUT, message="Silent.")
    async with durable.opened() as store:
        hand = durable.hand(store)
        hand.settled("task_1", output="the answer")
        hand.settled("task_2", outcome=Failed(error=error), output="")
        hand.settled("task_3", outcome=Cancelled(reason="asked"), output="")
    async with durable.opened() as store:
        one, two, three = store.tasks()
        assert (one.id, one.status, one.output, one.ended_ms) == ("task_1", "succeeded", "the answer", 1_000_000)
        assert (two.status, two.error.code, two.summary) == ("failed", ErrorCode.PROVIDER_TIMEOUT, "Silent.")
        assert two.error.resolved_category == "runtime"
        assert (three.status, three.summary) == ("cancelled", "Cancelled Finder: look")
        assert store.diagnostics == ()


async def test_streamed_text_comes_back_exactly(durable):
    pieces = ["Hello ", "big ", "\n", "  world", "\r\n\u2028\x85", "é🎉 "]
    async with durable.opened() as store:
        before = durable.hand(store).settled("task_1", *(TextDelta(text=piece) for piece in pieces))
    async with durable.opened() as store:
        after = store.get("task_1").ok_value
        assert after.text == "".join(pieces)
        assert after.activity.events == before.activity.events
        assert after.activity.event_total == len(pieces)


async def test_tool_events_come_back_in_their_order_and_only_the_newest(durable):
    calls = [
        event
        for number in range(100)
        for event in (
            ToolStarted(call_id=f"c{number}", tool="read", args="x"),
            ToolUpdated(call_id=f"c{number}", tool="read", text="half"),
            ToolEnded(call_id=f"c{number}", tool="read", status="success", text="whole"),
        )
    ]
    async with durable.opened() as store:
        before = durable.hand(store).settled("task_1", TextDelta(text="first"), *calls, TextDelta(text="last"))
    async with durable.opened() as store:
        after = store.get("task_1").ok_value
        assert after.activity.events == before.activity.events
        assert len(after.activity.events) == 120
        if durable.kind == "sqlite":  # the documented file holds the newest events and nothing else
            assert (after.text, after.activity.event_total) == ("first\n\nlast", 302)
            assert after.activity.calls == before.activity.calls
            assert after.activity.usage.tool_calls == 100


async def test_why_a_task_is_gone_survives_a_restart(durable):
    async with durable.opened(retention_ms=100) as store:
        durable.hand(store).settled("task_1")
        await store.flush()
        durable.clock.now += 100
        durable.hand(store).new("task_2")
    async with durable.opened(retention_ms=100) as store:
        assert why(store, "task_1") == "Task id 'task_1' expired by retention policy after 100ms"


async def test_a_clock_that_was_wrong_when_a_process_began_removes_nothing(durable):
    async with durable.opened() as store:
        for number in range(3):
            durable.hand(store).settled(f"task_{number}", TextDelta(text="said"))
    right = durable.clock.now
    for _ in range(3):
        durable.clock.now += DAYS_400
        async with durable.opened() as store:
            assert found(store, "task_0", "task_1", "task_2") == ["task_expired"] * 3
            await store.flush()
            assert store.count() == len([*store.tasks()]) == 0
            durable.hand(store).settled(f"task_at_{durable.clock.now}")
    durable.clock.now = right
    async with durable.opened() as store:
        assert found(store, "task_0", "task_1", "task_2") == ["succeeded"] * 3
        assert store.get("task_1").ok_value.text == "said"


async def test_what_was_found_to_be_past_its_time_is_gone_whatever_policy_comes(durable):
    async with durable.opened(retention_ms=100) as store:
        durable.hand(store).settled("task_1")
        durable.hand(store).settled("task_2")
        await store.flush()
        durable.clock.now += 100
        assert found(store, "task_1") == ["task_expired"]
    for _ in range(2):
        async with durable.opened() as store:
            assert found(store, "task_1", "task_2") == ["task_expired"] * 2
            assert why(store, "task_1") == "Task id 'task_1' expired by retention policy after 100ms"
            assert [*store.tasks()] == []


async def test_retention_and_capacity_hold_for_what_an_earlier_process_left(durable):
    async with durable.opened() as store:
        for number in range(4):
            durable.hand(store).settled(f"task_{number}")
            durable.clock.now += 10
    async with durable.opened(retention_ms=35, max_entries=2) as store:
        await store.flush()
        assert found(store, "task_0", "task_1", "task_2", "task_3") == [
            "task_expired",
            "task_expired",
            "succeeded",
            "succeeded",
        ]


async def test_a_task_that_nobody_runs_any_more_has_failed_and_keeps_what_it_had(durable, forsaken):
    """`forsaken` is what a killed process leaves."""
    async with durable.opened() as store:
        hand = durable.hand(store)
        task = hand.started("task_1", TextDelta(text="so far"), ToolStarted(call_id="c", tool="bash", args="sleep"))
        hand.tell(task, FollowUpTaken(prompt="and?"))
        hand.new("task_2")
        await store.flush()
        left = forsaken(durable)
    async with left.opened() as store:
        one, two = store.tasks()
        assert [one.status, two.status] == ["failed", "failed"]
        assert one.error.code == ErrorCode.REHYDRATED_INCOMPLETE
        assert one.summary == "Task 'task_1' recovered from non-terminal state and marked failed"
        assert one.error.message == (
            "Task 'task_1' restored from persistence in non-terminal state 'running' and was marked failed"
        )
        assert "'queued'" in two.error.message
        assert (one.text, one.activity.open_calls) == ("so far", ())
        assert one.activity.events[-1].event.kind == "tool_ended"
        assert [str(told) for told in store.diagnostics] == [
            f"{left.place}Task 'task_1' restored from non-terminal 'running' state and marked failed",
            f"{left.place}Task 'task_2' restored from non-terminal 'queued' state and marked failed",
        ]
    async with left.opened() as store:
        assert [task.status for task in store.tasks()] == ["failed", "failed"]
        assert store.diagnostics == ()


@pytest.fixture
def forsaken(tmp_path):
    """Copies the files as they are, and lets their owner be a process that is long gone."""
    import shutil
    import sqlite3

    def copied(stores):
        left = Stores(stores.kind, tmp_path / "left")
        left.clock = stores.clock
        left.place = ""
        shutil.copytree(stores.directory, left.directory)
        file = left.directory / "ohm.subagents.tasks.sqlite3"
        if file.exists():
            connection = sqlite3.connect(file)
            connection.execute("UPDATE owners SET started = 'long ago'")
            connection.commit()
            connection.close()
        return left

    return copied


async def test_a_directory_that_cannot_be_used_costs_the_durability_only(durable, tmp_path):
    durable.directory = tmp_path / "file" / "registry"
    (tmp_path / "file").write_text("in the way")
    async with durable.opened() as store:
        durable.hand(store).settled("task_1")
        await store.flush()
        assert found(store, "task_1") == ["succeeded"]
        (told,) = store.diagnostics
        assert told.message.startswith("Tasks are kept in memory only: ")
        assert store.place is None


async def test_the_files_are_the_owners_alone(durable):
    async with durable.opened() as store:
        durable.hand(store).settled("task_1", TextDelta(text="secret"))
        await store.flush()
        files = [path for path in durable.directory.rglob("*") if path.is_file()]
        assert files
        assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
        assert durable.directory.stat().st_mode & 0o777 == 0o700


async def test_a_run_that_was_given_more_than_one_prompt_keeps_them(durable):
    async with durable.opened() as store:
        hand = durable.hand(store)
        task = hand.started("task_1", RunEnded(outcome=Succeeded(), output="one"))
        task = hand.tell(task, RunStarted(prompt="two?"), RunEnded(outcome=Succeeded(), output="two"))
        hand.tell(task, TaskSettled(outcome=Succeeded()))
    async with durable.opened() as store:
        runs = store.get("task_1").ok_value.runs
        assert [run.prompt for run in runs] == ["p", "two?"]
        assert runs[-1].output == "two"
