"""The history of a task: from its log, and from its state where there is none."""

from __future__ import annotations

import pytest
from store_tasks import Clock, Hand, opened

from ohm_subagents.contract import (
    Cancelled,
    FollowUpTaken,
    RunEnded,
    RunStarted,
    Succeeded,
    TaskSettled,
    TextDelta,
    ToolEnded,
    ToolStarted,
)
from ohm_subagents.store import events_of

pytestmark = pytest.mark.anyio
CALL = (ToolStarted(call_id="1", tool="read"), ToolEnded(call_id="1", tool="read", status="success"))
DONE = RunEnded(outcome=Succeeded(), output="done")
SETTLED = TaskSettled(outcome=Succeeded())
END = (DONE, SETTLED)


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def lived(folder, *steps):
    """The history after `steps`, each of which is in the file before the next begins."""
    clock = Clock()
    async with opened("sqlite", folder, clock) as store:
        hand = Hand(store, clock)
        task = hand.new()
        for step in steps:
            await store.flush()
            clock.now += 1_000
            task = hand.tell(task, *step)
    async with opened("sqlite", folder, clock) as store:
        return await store.history(store.get(task.id).ok_value)


def kinds(entries):
    return [entry.event.kind for entry in entries]


WHOLE = {
    "streamed at once": [(RunStarted(prompt="p"), *CALL, TextDelta(text="t"), *END)],
    "streamed late": [(RunStarted(prompt="p"),), CALL, (TextDelta(text="t"),), END],
    "never streamed": [(RunStarted(prompt="p"),), END],
    "follow-up before anything was streamed": [(RunStarted(prompt="p"),), (FollowUpTaken(prompt="f"),), CALL, END],
    "follow-ups around": [
        (RunStarted(prompt="p"),),
        (FollowUpTaken(prompt="f"),),
        CALL,
        (FollowUpTaken(prompt="g"),),
        END,
    ],
    "runs before anything was streamed": [
        (RunStarted(prompt="p"),),
        (DONE,),
        (RunStarted(prompt="q"),),
        CALL,
        (DONE,),
        (RunStarted(prompt="r"), TextDelta(text="t")),
        END,
    ],
    "cancelled in the queue": [(TaskSettled(outcome=Cancelled(reason="Enough.")),)],
}


@pytest.mark.parametrize("steps", WHOLE.values(), ids=WHOLE.keys())
async def test_nothing_is_missing_whenever_the_first_event_was_streamed(tmp_path, steps) -> None:
    entries = await lived(tmp_path, *steps)
    assert [entry.event for entry in entries][1:-1] == [event for step in steps for event in step][:-1]
    assert kinds(entries) == ["task_queued", *(event.kind for step in steps for event in step)]
    assert [entry.at_ms for entry in entries] == sorted(entry.at_ms for entry in entries)


async def test_the_task_of_a_dead_process_has_the_end_that_it_was_given(tmp_path) -> None:
    told = await lived(tmp_path, (RunStarted(prompt="p"),), CALL[:1])
    ended = ["tool_ended", "run_ended", "task_settled"]
    assert kinds(told) == ["task_queued", "run_started", "tool_started", *ended]


def streamed(*events, max_events=3):
    """A running task that saw `events`."""
    hand = Hand(_Nowhere(), Clock())
    task = hand.tell(hand.new(max_events=max_events), RunStarted(prompt="p"))
    return hand.tell(task, *events)


class _Nowhere:
    def save(self, task, event):
        pass


def words(text):
    return tuple(TextDelta(text=word) for word in text)


def test_without_a_log_older_text_is_one_event_and_the_newest_events_are_single() -> None:
    told = events_of(streamed(*words("abcdefgh")))
    assert [one.event.text for one in told[2:]] == ["abcde", "f", "g", "h"]


def test_without_a_log_tool_calls_outlast_the_words_around_them() -> None:
    told = [one.event for one in events_of(streamed(*words("ab"), *CALL, *words("cdef")))]
    assert [event.kind for event in told[2:4]] == ["tool_started", "tool_ended"]
    assert "".join(event.text for event in told[4:]) == "ab\n\ncdef"


def test_without_a_log_nothing_is_merged_where_all_the_events_are_known() -> None:
    assert [one.event.text for one in events_of(streamed(*words("abc")))[2:]] == ["a", "b", "c"]
