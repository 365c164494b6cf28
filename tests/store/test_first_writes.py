"""The first values that a process writes to a store are written without a schema, and are the same."""

from dataclasses import replace

import pytest
from made_tasks import queued_task
from wire_samples import ERROR, EVENTS

from ohm_subagents._store import records
from ohm_subagents.contract import Failed, RunEnded, TextDelta, ToolEnded
from ohm_subagents.contract.task import TERMINAL, apply
from ohm_subagents.store import log_lines

ODD = [
    ToolEnded(call_id="1", tool="é\u2028", status="error", text="\x00 \ud800"),
    TextDelta(text="\ud83d"),
    TextDelta(text=object()),
    RunEnded(outcome=Failed(error=replace(ERROR, code="a code of a backend", advice=""))),
]


def written(entry, monkeypatch, *, first: bool) -> tuple[bytes, list[str]]:
    failed: list[str] = []
    monkeypatch.setattr(records, "_first", iter(range(100 if first else 0)))
    return log_lines([entry], lambda exc: failed.append(repr(exc))), failed


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
@pytest.mark.parametrize("event", [*EVENTS, *ODD], ids=lambda event: event.kind)
def test_an_event_is_written_as_later_ones_are(event, monkeypatch):
    assert written((1, event), monkeypatch, first=True) == written((1, event), monkeypatch, first=False)


def test_a_task_is_written_as_later_ones_are(monkeypatch):
    task = queued_task("task_1")
    for event in EVENTS:
        task = apply(task, event, at_ms=2)
        assert written(task, monkeypatch, first=True) == written(task, monkeypatch, first=False)
    assert task.status in TERMINAL
