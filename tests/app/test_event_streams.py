"""Readers of events that are slower than what happens: nothing waits for them, and what waits has a bound."""

from contextlib import aclosing

import pytest

from ohm_subagents import EventStream
from ohm_subagents._app import streams
from ohm_subagents.contract import (
    Checkpointed,
    DiagnosticRaised,
    FileChanged,
    TaskSettled,
    TextDelta,
    ToolEnded,
    ToolStarted,
)
from ohm_subagents.testing import ScriptedBackend, Step, quick_ohm

pytestmark = pytest.mark.anyio


async def read_late(*events, **options):
    """Begin to read a task's events at its start, and go on when it is over."""
    backend = ScriptedBackend(Step(events=events, text="done"))
    async with quick_ohm(backend=backend) as ohm, aclosing(ohm.events(**options)) as stream:
        handle = await ohm.start("finder", "p")
        first = await anext(stream)
        await handle.wait()
        rest = [first]
        while not isinstance(rest[-1].event, TaskSettled):
            rest.append(await anext(stream))
    return [one.event for one in rest]


async def test_a_stream_that_observes_a_run_has_each_of_its_events():
    backend = ScriptedBackend(Step(events=(TextDelta(text="a"), Checkpointed(state="s")), text="done"))
    async with quick_ohm(backend=backend) as ohm:
        with EventStream() as stream:
            await ohm.run("finder", "p", observer=stream)
            stream.end()
            kinds = [(each.task_id, each.event.kind) async for each in stream]

    expected = ("task_queued", "run_started", "text_delta", "run_ended", "task_settled")
    assert kinds == [("task_1", kind) for kind in expected]


def tools(number):
    return [
        event
        for one in range(number)
        for event in (
            ToolStarted(call_id=f"{one}", tool="read", args=f"{one}"),
            ToolEnded(call_id=f"{one}", tool="read", status="success", text=f"{one}"),
        )
    ]


@pytest.fixture
def few(monkeypatch):
    """Tests wait for fewer events than readers may let wait."""
    assert (streams.MAX_WAITING, streams.MAX_CHARS) == (10_000, 8 * 1024 * 1024)
    monkeypatch.setattr(streams, "MAX_WAITING", 200)
    monkeypatch.setattr(streams, "_MANY", 20)


async def test_events_wait_for_their_reader(few):
    seen = await read_late(*tools(90))

    assert sum(isinstance(one, ToolEnded) for one in seen) == 90
    assert not any(isinstance(one, DiagnosticRaised) for one in seen)


async def test_of_more_the_newest_wait_and_a_diagnostic_counts_the_others(few):
    seen = await read_late(*tools(300))
    (gap,) = [one.diagnostic for one in seen if isinstance(one, DiagnosticRaised)]
    left_out = int(gap.message.split()[0])

    assert (gap.subject, gap.message) == ("events", f"{left_out} events are left out here: they were not read in time.")
    assert len(seen) - 1 + left_out == 600 + len(await read_late())
    assert len(seen) <= streams.MAX_WAITING + 2
    assert isinstance(seen[-1], TaskSettled)


async def test_pieces_of_a_text_are_joined_once_many_wait_and_nothing_of_it_is_lost(few):
    text = "".join(chr(97 + one % 26) for one in range(4_000))
    seen = await read_late(*(TextDelta(text=one) for one in text))
    pieces = [one.text for one in seen if isinstance(one, TextDelta)]

    assert "".join(pieces) == text
    assert len(pieces) < 100


@pytest.mark.parametrize("event", [Checkpointed(state="s" * 300), FileChanged(path="p" * 300)])
async def test_long_texts_have_a_bound_too(monkeypatch, event):
    monkeypatch.setattr(streams, "MAX_CHARS", 1_000)
    seen = await read_late(*[event] * 9, with_checkpoints=True)
    kept = [one for one in seen if one == event]

    assert 0 < len(kept) < 4
    assert any(isinstance(one, DiagnosticRaised) for one in seen)
