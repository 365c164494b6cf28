"""Whatever happens to tasks, and whenever it is written: a store that is opened again holds what memory held."""

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_tasks import Clock, Hand, opened

from ohm_subagents.contract import (
    Cancelled,
    Checkpointed,
    ErrorCode,
    Failed,
    FileChanged,
    OhmError,
    RunEnded,
    RunStarted,
    Succeeded,
    TaskSettled,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    UsageAdded,
)
from ohm_subagents.contract.usage import Usage
from ohm_subagents.store import ListedTask, MemoryStore, TaskQuery, recovered

TEXTS = st.text(max_size=6)
OUTCOMES = st.sampled_from(
    [Succeeded(), Cancelled(reason="asked"), Failed(error=OhmError(code=ErrorCode.BACKEND_FAILED, message="It broke."))]
)
EVENTS = st.one_of(
    st.builds(TextDelta, text=TEXTS),
    st.builds(ThinkingDelta, text=TEXTS),
    st.builds(ToolStarted, call_id=st.sampled_from("12"), tool=st.just("read"), args=TEXTS),
    st.builds(ToolEnded, call_id=st.sampled_from("12"), tool=st.just("read"), status=st.just("success"), text=TEXTS),
    st.builds(
        UsageAdded,
        usage=st.builds(Usage, requests=st.integers(0, 3), cost_usd=st.sampled_from([None, Decimal("0.01")])),
    ),
    st.builds(FileChanged, path=st.sampled_from(["a.py", "b.py"])),
    st.builds(Checkpointed, state=TEXTS),
    st.builds(RunEnded, outcome=OUTCOMES, output=TEXTS),
    st.builds(RunStarted, prompt=TEXTS, is_follow_up=st.booleans()),
    st.builds(TaskSettled, outcome=OUTCOMES),
)
TASKS = ("task_1", "task_2", "task_3")
STEPS = st.lists(st.tuples(st.sampled_from(TASKS), EVENTS, st.booleans()), max_size=40)


class Both:
    """Two stores that are given the same."""

    def __init__(self, *stores):
        self.stores = stores

    def save(self, task, event):
        for store in self.stores:
            store.save(task, event)


def comparable(task):
    """The pieces of a text are joined otherwise once they were written."""
    return replace(task, activity=replace(task.activity, said=(task.text,)))


NEWEST = st.sampled_from([1, 3, 120])


@pytest.mark.slow
@given(steps=STEPS, newest=NEWEST)
def test_what_is_read_again_is_what_was_in_memory(tmp_path_factory, steps, newest) -> None:
    async def play(directory: Path) -> None:
        clock = Clock()
        memory, tasks = MemoryStore(clock), {}
        async with opened("sqlite", directory, clock) as store:
            hand = Hand(Both(memory, store), clock)
            for task_id, event, is_flushed in steps:
                clock.now += 7
                if task_id not in tasks:
                    tasks[task_id] = hand.tell(hand.new(task_id, max_events=newest), RunStarted(prompt="p"))
                if not tasks[task_id].is_terminal:
                    tasks[task_id] = hand.tell(tasks[task_id], event)
                if is_flushed:
                    await store.flush()
        clock.now += 7
        ended = [task if task.is_terminal else recovered(task, now_ms=clock.now)[0] for task in memory.tasks()]
        for _ in range(2):
            async with opened("sqlite", directory, clock) as store:
                listed = [one.ok_value for one in store.list(TaskQuery())]
                assert listed == [ListedTask.of(task) for task in reversed(ended)]
                assert [comparable(task) for task in store.tasks()] == [comparable(task) for task in ended]
                for task in ended:
                    assert comparable(store.get(task.id).ok_value) == comparable(task)

    anyio.run(play, tmp_path_factory.mktemp("registry"))
