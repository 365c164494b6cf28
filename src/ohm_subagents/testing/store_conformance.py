"""The law of stores as tests. Subclass `StoreConformance` or `DurableStoreConformance`, give a fixture, run pytest."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from ohm_subagents._plugins.stores import RetentionPolicy, StoreSpec, TaskQuery
from ohm_subagents.contract import (
    AccountCharged,
    Cancelled,
    ErrorCode,
    ListedTask,
    Remaining,
    RunEnded,
    SessionId,
    Succeeded,
    TaskId,
    TaskSettled,
    TextDelta,
    ToolEnded,
    Usage,
    UsageAdded,
)
from ohm_subagents.testing.store_trial import StoreTrial, found, got, refused

if TYPE_CHECKING:
    from collections.abc import Mapping

DAYS_400: Final = 400 * 86_400_000


class StoreConformance:
    """One test a law, of any store. The author gives `spec`, and `env` if the store needs an address."""

    pytestmark = pytest.mark.anyio

    @pytest.fixture(params=["asyncio", "trio"])
    def anyio_backend(self, request: pytest.FixtureRequest) -> str:
        """The event loops to run on."""
        loop: str = request.param
        return loop

    @pytest.fixture
    def spec(self) -> StoreSpec:
        """The store under test."""
        raise NotImplementedError("Give a fixture `spec` that returns your StoreSpec.")

    @pytest.fixture
    def env(self) -> Mapping[str, str]:
        """The environment that the store gets; new in each test, if what it names is to be empty."""
        return {}

    @pytest.fixture
    def stores(self, spec: StoreSpec, env: Mapping[str, str], tmp_path: Path) -> StoreTrial:
        """The store in a place of its own."""
        return StoreTrial(spec=spec, directory=tmp_path / "registry", env=env)

    async def test_the_newest_state_is_there_at_once_and_after_a_flush(self, stores: StoreTrial) -> None:
        async with stores.opened() as store:
            task = stores.hand(store).started("task_1", TextDelta(text="so "), TextDelta(text="far"))
            assert got(store, "task_1") is task
            await store.flush()
            assert got(store, "task_1") == task
            settled = stores.hand(store).tell(
                task, RunEnded(outcome=Succeeded(), output="o"), TaskSettled(outcome=Succeeded())
            )
            assert got(store, "task_1") == settled

    async def test_tasks_are_listed_oldest_first_and_by_session(self, stores: StoreTrial) -> None:
        async with stores.opened() as store:
            hand = stores.hand(store)
            for number, session in enumerate(("session_a", "session_b", "session_a")):
                hand.settled(f"task_{number}", session=session)
            await store.flush()
            hand.new("task_3", session="session_a")
            assert [task.id for task in store.tasks()] == ["task_0", "task_1", "task_2", "task_3"]
            assert [task.id for task in store.session(SessionId("session_a"))] == ["task_0", "task_2", "task_3"]
            assert [task.id for task in store.recent()] == ["task_0", "task_1", "task_2", "task_3"]
            await store.flush()
            assert store.count() == 4

    async def test_a_list_shows_each_task_as_it_is_newest_first(self, stores: StoreTrial) -> None:
        call = ToolEnded(call_id="1", tool="read", status="success", text="x")
        usage = UsageAdded(usage=Usage(requests=2, input_tokens=7, cost_usd=Decimal("0.012")))
        async with stores.opened() as store:
            hand = stores.hand(store)
            hand.settled("task_1", usage, call, profile="Finder", description="odd\0 日本")
            left = Remaining(requests=3, cost_usd=Decimal("0.25"), wall_ends_ms=2_000_000)
            hand.started("task_2", usage, AccountCharged(usage=Usage(requests=4)), AccountCharged(remaining=left))
            hand.new("task_3", parent="task_2", start="start_1")
            await store.flush()
            tasks = [*store.tasks()]
            assert [one.unwrap() for one in store.list(TaskQuery())] == [
                ListedTask.of(task) for task in reversed(tasks)
            ]
        async with stores.opened() as store:
            tasks = [*store.tasks()]
            assert [one.unwrap() for one in store.list(TaskQuery())] == [
                ListedTask.of(task) for task in reversed(tasks)
            ]

    async def test_the_tasks_of_a_call_are_found_by_its_id(self, stores: StoreTrial) -> None:
        async with stores.opened() as store:
            hand = stores.hand(store)
            hand.settled("task_1", call='a "call"')
            hand.settled("task_2", call="another", description='"call": "a \\"call\\""')
            hand.settled("task_3")
            hand.started("task_4", call='a "call"')
            await store.flush()
            of_call = TaskQuery(call='a "call"')
            assert [one.unwrap().id for one in store.list(of_call)] == ["task_4", "task_1"]
            assert store.count(of_call) == 2
            assert [*store.list(TaskQuery(call="a"))] == []

    async def test_tasks_are_found_by_the_beginning_and_the_end_of_their_ids(self, stores: StoreTrial) -> None:
        found = {"task_1": ["task_1_a", "task_1_b"], "_a": ["task_2_a", "task_1_a"], "%": []}
        async with stores.opened() as store:
            hand = stores.hand(store)
            for name in ("task_1_b", "task_1_a", "task_2_a", "other_%_c"):
                hand.settled(name)
            await store.flush()
            for part, ids in found.items():
                assert [one.unwrap().id for one in store.list(TaskQuery(id_part=part))] == ids
                assert store.count(TaskQuery(id_part=part)) == len(ids)

    async def test_the_tasks_that_share_the_budget_of_a_start_are_found_by_its_id(self, stores: StoreTrial) -> None:
        together = TaskQuery(start="start_1")
        async with stores.opened() as store:
            hand = stores.hand(store)
            hand.settled("task_1", start="start_1")
            hand.settled("task_2", start="start_2", description='"start": "start_1"')
            hand.settled("task_3")
            hand.settled("task_4", start="start_1", outcome=Cancelled(reason="asked"))
            await store.flush()
            assert [one.unwrap().id for one in store.list(together)] == ["task_4", "task_1"]
            assert store.count(together) == 2

    async def test_an_unknown_id_is_told_as_such(self, stores: StoreTrial) -> None:
        async with stores.opened() as store:
            assert refused(store, "task_9").code == ErrorCode.UNKNOWN_TASK_ID
            assert not store.is_foreign(TaskId("task_9"))

    async def test_a_settled_task_is_gone_when_its_time_is_over_and_a_running_one_stays(
        self, stores: StoreTrial
    ) -> None:
        async with stores.opened(retention_ms=100) as store:
            hand = stores.hand(store)
            hand.settled("task_1")
            hand.started("task_2")
            await store.flush()
            stores.clock.now += 99
            assert found(store, "task_1", "task_2") == ["succeeded", "running"]
            stores.clock.now += 1
            assert found(store, "task_1", "task_2") == ["task_expired", "running"]
            assert refused(store, "task_1").message == "Task id 'task_1' expired by retention policy after 100ms"
            assert [task.id for task in store.tasks()] == ["task_2"]
            hand.new("task_3")
            await store.flush()
            assert found(store, "task_1") == ["task_expired"]
            assert refused(store, "task_1").message == "Task id 'task_1' expired by retention policy after 100ms"

    async def test_a_clock_that_jumps_ahead_removes_nothing(self, stores: StoreTrial) -> None:
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
            assert got(store, "task_0").text == "said"
            hand.settled("task_3")
            await store.flush()
            assert got(store, "task_0").text == "said"

    async def test_what_is_past_its_time_is_the_first_to_make_room(self, stores: StoreTrial) -> None:
        async with stores.opened(retention_ms=100, max_entries=3) as store:
            hand = stores.hand(store)
            hand.settled("task_0")
            stores.clock.now += 100
            for number in range(1, 4):
                hand.settled(f"task_{number}")
                await store.flush()
            assert found(store, "task_0", "task_1", "task_2", "task_3") == ["task_expired"] + ["succeeded"] * 3
            assert refused(store, "task_0").message.endswith("expired by retention policy after 100ms")
            assert store.count() == 3
            stores.clock.now += 100
            hand.settled("task_4")
            await store.flush()
            store.retain(RetentionPolicy(retention_ms=100, max_entries=3))
            await store.flush()
            assert found(store, "task_3", "task_4") == ["task_expired", "succeeded"]

    async def test_only_so_many_reasons_are_remembered_of_what_is_past_its_time(self, stores: StoreTrial) -> None:
        async with stores.opened(retention_ms=100, max_reasons=1) as store:
            for number in range(3):
                stores.hand(store).settled(f"task_{number}")
            await store.flush()
            stores.clock.now += 100
            found(store, "task_0")
            stores.hand(store).new("task_3")
            await store.flush()
            assert found(store, "task_0", "task_1", "task_2") == ["unknown_task_id", "unknown_task_id", "task_expired"]

    async def test_beyond_the_capacity_the_one_that_ended_first_makes_room(self, stores: StoreTrial) -> None:
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
            assert (
                refused(store, "task_late").message
                == "Task id 'task_late' evicted by capacity policy after reaching max 2 tasks"
            )
            assert store.count() == 2

    async def test_what_has_made_room_is_counted_no_more(self, stores: StoreTrial) -> None:
        async with stores.opened(max_entries=5) as store:
            for number in range(10):
                stores.hand(store).settled(f"task_{number}")
            await store.flush()
            assert store.count() == store.count(TaskQuery()) == store.count(TaskQuery(status="succeeded")) == 5
            assert len([*store.list(TaskQuery())]) == len([*store.tasks()]) == 5

    async def test_tasks_that_run_are_never_evicted(self, stores: StoreTrial) -> None:
        async with stores.opened(max_entries=1) as store:
            for number in range(3):
                stores.hand(store).started(f"task_{number}")
            await store.flush()
            assert found(store, "task_0", "task_1", "task_2") == ["running"] * 3

    async def test_only_so_many_reasons_are_remembered(self, stores: StoreTrial) -> None:
        async with stores.opened(max_entries=1, max_reasons=1) as store:
            for number in range(3):
                stores.hand(store).settled(f"task_{number}")
                await store.flush()
            assert found(store, "task_0", "task_1", "task_2") == ["unknown_task_id", "task_expired", "succeeded"]

    async def test_a_new_task_may_have_the_id_of_one_that_is_gone(self, stores: StoreTrial) -> None:
        async with stores.opened(retention_ms=100) as store:
            hand = stores.hand(store)
            hand.settled("task_1", TextDelta(text="old"))
            await store.flush()
            stores.clock.now += 100
            assert found(store, "task_1") == ["task_expired"]
            hand.new("task_1")
            await store.flush()
            task = got(store, "task_1")
            assert (task.status, task.text) == ("queued", "")

    async def test_a_new_policy_holds_from_now_on(self, stores: StoreTrial) -> None:
        async with stores.opened() as store:
            for number in range(3):
                stores.hand(store).settled(f"task_{number}")
            await store.flush()
            store.retain(RetentionPolicy(max_entries=1))
            await store.flush()
            assert found(store, "task_0", "task_1", "task_2") == ["task_expired", "task_expired", "succeeded"]

    async def test_a_flush_with_nothing_to_do_returns_at_once(self, stores: StoreTrial) -> None:
        async with stores.opened() as store:
            await store.flush()
            stores.hand(store).settled("task_1")
            await store.flush()
            step = store.flush()
            with pytest.raises(StopIteration):
                step.send(None)

    async def test_strange_ids_and_texts_are_kept(self, stores: StoreTrial) -> None:
        ids = ("../../etc/passwd", "Task 1", "a" * 300, "日本\x00", "task_1.jsonl")
        async with stores.opened() as store:
            for task_id in ids:
                stores.hand(store).settled(task_id, TextDelta(text="\ud800 half"), output="half \udc00 of it")
            await store.flush()
            assert [task.id for task in store.tasks()] == [*ids]
        outside = [path.name for path in stores.directory.parent.iterdir()]
        assert set(outside) <= {"registry"}
