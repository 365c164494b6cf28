"""What happened to a task, from a transcript that leaves things out and a row that has them."""

from __future__ import annotations

import pytest
from store_tasks import Clock, Hand, opened

from ohm_subagents._store.files import TaskFiles
from ohm_subagents._store.history import event_fields, history
from ohm_subagents._store.sqlite import FOLDER
from ohm_subagents._store.transcript import Streamed, parsed
from ohm_subagents._views.transcript import Gap
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

pytestmark = pytest.mark.anyio
CALL = (ToolStarted(call_id="1", tool="read"), ToolEnded(call_id="1", tool="read", status="success"))
DONE = RunEnded(outcome=Succeeded(), output="done")
SETTLED = TaskSettled(outcome=Succeeded())
END = (DONE, SETTLED)


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def lived(folder, *steps):
    """The task of a row and its transcript after `steps`, each of which is in the file before the next begins."""
    clock = Clock()
    async with opened("sqlite", folder, clock) as store:
        hand = Hand(store, clock)
        task = hand.new()
        for step in steps:
            await store.flush()
            clock.now += 1_000
            task = hand.tell(task, *step)
    async with opened("sqlite", folder, clock) as store:
        task = store.get(task.id).ok_value
        return task, [*parsed(TaskFiles(folder / FOLDER).streamed(task.id))]


def kinds(entries):
    return [event_fields(entry)["kind"] for entry in entries]


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
    task, transcript = await lived(tmp_path, *steps)
    entries = history(task, transcript)
    assert [entry.event for entry in entries][1:-1] == [event for step in steps for event in step][:-1]
    assert kinds(entries) == ["task_queued", *(event.kind for step in steps for event in step)]
    assert [entry.at_ms for entry in entries] == sorted(entry.at_ms for entry in entries)


async def test_the_task_of_a_dead_process_has_the_end_that_it_was_given(tmp_path) -> None:
    task, transcript = await lived(tmp_path, (RunStarted(prompt="p"),), CALL[:1])
    ended = ["tool_ended", "run_ended", "task_settled"]
    assert kinds(history(task, transcript)) == ["task_queued", "run_started", "tool_started", *ended]


def streamed(*events, max_events=3):
    """A running task that saw `events`, and what they add up to."""
    hand = Hand(_Nowhere(), Clock())
    task = hand.tell(hand.new(max_events=max_events), RunStarted(prompt="p"))
    return hand.tell(task, *events)


class _Nowhere:
    def save(self, task, event):
        pass


def words(text):
    return tuple(TextDelta(text=word) for word in text)


def told(entries):
    """A text for each event: a word as it is, a gap as its count and text."""
    return [f"{one.missing}:{one.text}" if isinstance(one, Gap) else one.event.text for one in entries]


def test_events_that_were_too_fast_for_the_disk_are_a_gap_with_their_text() -> None:
    task = streamed(*words("abcdefgh"))
    kept = [*((0, word) for word in words("ab")), Streamed.of(task), *((0, word) for word in words("ij"))]
    assert told(history(task, kept)[2:]) == ["a", "b", "3:cde", "f", "g", "h", "i", "j"]


def test_a_second_gap_counts_from_the_first() -> None:
    first, second = streamed(*words("abcd")), streamed(*words("abcdefghijk"))
    kept = [Streamed.of(first), (0, TextDelta(text="e")), Streamed.of(second)]
    assert told(history(second, kept)[2:]) == ["1:a", "b", "c", "d", "e", "3:fgh", "i", "j", "k"]


def test_there_is_no_gap_where_all_the_events_are_known() -> None:
    task = streamed(*words("abc"))
    assert told(history(task, [Streamed.of(task)])[2:]) == ["a", "b", "c"]
    assert event_fields(Gap(at_ms=5, missing=2, text="x")) == {"at_ms": 5, "kind": "gap", "missing": 2, "text": "x"}
