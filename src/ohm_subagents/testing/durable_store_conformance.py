"""The law of stores that keep tasks over a restart."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TypeAlias

import pytest

from ohm_subagents.contract import (
    Budget,
    CallRules,
    Cancelled,
    ErrorCode,
    Failed,
    FollowUpTaken,
    LaunchRecord,
    ModelPattern,
    OhmError,
    RunEnded,
    RunStarted,
    Succeeded,
    TaskSettled,
    TextDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
)
from ohm_subagents.testing.store_conformance import DAYS_400, StoreConformance
from ohm_subagents.testing.store_trial import StoreTrial, found, got, refused

Forsaken: TypeAlias = Callable[[StoreTrial], StoreTrial]


class DurableStoreConformance(StoreConformance):
    """Every law of `StoreConformance`, and those of a store that is opened anew."""

    keeps_every_event = True
    """False for a store that keeps the newest events of a task only."""

    @pytest.fixture
    def forsaken(self) -> Forsaken:
        """Take a store that is open, kill its process, and return it as the next process finds it."""
        raise NotImplementedError("Give a fixture `forsaken`, or set its test to None.")

    async def test_settled_tasks_survive_a_restart(self, stores: StoreTrial) -> None:
        error = OhmError(code=ErrorCode.PROVIDER_TIMEOUT, message="Silent.")
        async with stores.opened() as store:
            hand = stores.hand(store)
            hand.settled("task_1", output="the answer")
            hand.settled("task_2", outcome=Failed(error=error), output="")
            hand.settled("task_3", outcome=Cancelled(reason="asked"), output="")
        async with stores.opened() as store:
            one, two, three = store.tasks()
            assert (one.id, one.status, one.output, one.ended_ms) == ("task_1", "succeeded", "the answer", 1_000_000)
            assert two.error is not None
            assert (two.status, two.error.code, two.summary) == ("failed", ErrorCode.PROVIDER_TIMEOUT, "Silent.")
            assert two.error.resolved_category == "runtime"
            assert (three.status, three.summary) == ("cancelled", "Cancelled Finder: look")
            assert store.diagnostics == ()

    async def test_the_launch_record_of_a_task_survives_a_restart(self, stores: StoreTrial) -> None:
        launch = LaunchRecord(
            profile="finder",
            instructions="0" * 64,
            backend="none",
            model=ModelPattern(provider="acme", model="big", thinking="high"),
            call_rules=(CallRules(deny=("git push *",), source="ohm.json:3"),),
            budget=Budget(cost_usd=Decimal("2.50")),
            versions={"ohm-subagents": "1"},
        )
        async with stores.opened() as store:
            stores.hand(store).settled("task_1", launch=launch)
            stores.hand(store).settled("task_2")
        async with stores.opened() as store:
            one, two = store.tasks()
        assert (one.launch, two.launch) == (launch, None)
        assert one.launch is not None
        assert one.launch.digest == launch.digest

    async def test_streamed_text_comes_back_exactly(self, stores: StoreTrial) -> None:
        pieces = ["Hello ", "big ", "\n", "  world", "\r\n\u2028\x85", "é🎉 "]
        async with stores.opened() as store:
            before = stores.hand(store).settled("task_1", *(TextDelta(text=piece) for piece in pieces))
        async with stores.opened() as store:
            after = got(store, "task_1")
            assert after.text == "".join(pieces)
            assert after.activity.events == before.activity.events
            assert after.activity.event_total == len(pieces)

    async def test_tool_events_come_back_in_their_order_and_only_the_newest(self, stores: StoreTrial) -> None:
        calls = [
            event
            for number in range(100)
            for event in (
                ToolStarted(call_id=f"c{number}", tool="read", args="x"),
                ToolUpdated(call_id=f"c{number}", tool="read", text="half"),
                ToolEnded(call_id=f"c{number}", tool="read", status="success", text="whole"),
            )
        ]
        async with stores.opened() as store:
            before = stores.hand(store).settled("task_1", TextDelta(text="first"), *calls, TextDelta(text="last"))
        async with stores.opened() as store:
            after = got(store, "task_1")
            assert after.activity.events == before.activity.events
            assert len(after.activity.events) == 120
            if self.keeps_every_event:
                assert (after.text, after.activity.event_total) == ("first\n\nlast", 302)
                assert after.activity.calls == before.activity.calls
                assert after.activity.usage.tool_calls == 100

    async def test_why_a_task_is_gone_survives_a_restart(self, stores: StoreTrial) -> None:
        async with stores.opened(retention_ms=100) as store:
            stores.hand(store).settled("task_1")
            await store.flush()
            stores.clock.now += 100
            stores.hand(store).new("task_2")
        async with stores.opened(retention_ms=100) as store:
            assert refused(store, "task_1").message == "Task id 'task_1' expired by retention policy after 100ms"

    async def test_a_clock_that_was_wrong_when_a_process_began_removes_nothing(self, stores: StoreTrial) -> None:
        async with stores.opened() as store:
            for number in range(3):
                stores.hand(store).settled(f"task_{number}", TextDelta(text="said"))
        right = stores.clock.now
        for _ in range(3):
            stores.clock.now += DAYS_400
            async with stores.opened() as store:
                assert found(store, "task_0", "task_1", "task_2") == ["task_expired"] * 3
                await store.flush()
                assert store.count() == len([*store.tasks()]) == 0
                stores.hand(store).settled(f"task_at_{stores.clock.now}")
        stores.clock.now = right
        async with stores.opened() as store:
            assert found(store, "task_0", "task_1", "task_2") == ["succeeded"] * 3
            assert got(store, "task_1").text == "said"

    async def test_what_was_found_to_be_past_its_time_is_gone_whatever_policy_comes(self, stores: StoreTrial) -> None:
        async with stores.opened(retention_ms=100) as store:
            stores.hand(store).settled("task_1")
            stores.hand(store).settled("task_2")
            await store.flush()
            stores.clock.now += 100
            assert found(store, "task_1") == ["task_expired"]
        for _ in range(2):
            async with stores.opened() as store:
                assert found(store, "task_1", "task_2") == ["task_expired"] * 2
                assert refused(store, "task_1").message == "Task id 'task_1' expired by retention policy after 100ms"
                assert [*store.tasks()] == []

    async def test_retention_and_capacity_hold_for_what_an_earlier_process_left(self, stores: StoreTrial) -> None:
        async with stores.opened() as store:
            for number in range(4):
                stores.hand(store).settled(f"task_{number}")
                stores.clock.now += 10
        async with stores.opened(retention_ms=35, max_entries=2) as store:
            await store.flush()
            assert found(store, "task_0", "task_1", "task_2", "task_3") == [
                "task_expired",
                "task_expired",
                "succeeded",
                "succeeded",
            ]

    async def test_a_task_that_nobody_runs_any_more_has_failed_and_keeps_what_it_had(
        self, stores: StoreTrial, forsaken: Forsaken
    ) -> None:
        """`forsaken` is what a killed process leaves."""
        async with stores.opened() as store:
            hand = stores.hand(store)
            task = hand.started("task_1", TextDelta(text="so far"), ToolStarted(call_id="c", tool="bash", args="sleep"))
            hand.tell(task, FollowUpTaken(prompt="and?"))
            hand.new("task_2")
            await store.flush()
            left = forsaken(stores)
        async with left.opened() as store:
            one, two = store.tasks()
            assert [one.status, two.status] == ["failed", "failed"]
            assert one.error is not None
            assert two.error is not None
            assert one.error.code == ErrorCode.REHYDRATED_INCOMPLETE
            assert one.summary == "Task 'task_1' recovered from non-terminal state and marked failed"
            assert one.error.message == (
                "Task 'task_1' restored from persistence in non-terminal state 'running' and was marked failed"
            )
            assert "'queued'" in two.error.message
            assert (one.text, one.activity.open_calls) == ("so far", ())
            assert one.activity.events[-1].event.kind == "tool_ended"
            assert [told.message for told in store.diagnostics] == [
                "Task 'task_1' restored from non-terminal 'running' state and marked failed",
                "Task 'task_2' restored from non-terminal 'queued' state and marked failed",
            ]
        async with left.opened() as store:
            assert [task.status for task in store.tasks()] == ["failed", "failed"]
            assert store.diagnostics == ()

    async def test_a_run_that_was_given_more_than_one_prompt_keeps_them(self, stores: StoreTrial) -> None:
        async with stores.opened() as store:
            hand = stores.hand(store)
            task = hand.started("task_1", RunEnded(outcome=Succeeded(), output="one"))
            task = hand.tell(task, RunStarted(prompt="two?"), RunEnded(outcome=Succeeded(), output="two"))
            hand.tell(task, TaskSettled(outcome=Succeeded()))
        async with stores.opened() as store:
            runs = got(store, "task_1").runs
            assert [run.prompt for run in runs] == ["p", "two?"]
            assert runs[-1].output == "two"
