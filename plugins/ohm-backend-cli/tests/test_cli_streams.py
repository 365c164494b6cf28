"""Every recorded stream tells what it should, and nothing that is cut short or broken passes for an answer."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cli_streams import AGENTS, DIALECTS, NAMES, STREAMS, asked, cli_of, ended, lines, replayed
from hypothesis import given
from hypothesis import strategies as st

from ohm_subagents.plugin import Checkpointed, DiagnosticRaised, Err, Ok, ToolEnded, ToolStarted, Usage, UsageAdded
from ohm_subagents.shell import Ended, Invocation

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ohm_subagents.contract import RunEvent

EXPECTED: dict[str, dict[str, object]] = json.loads((STREAMS / "expected.json").read_text())
TABLES = {agent.id: sorted(agent.table) for agent in AGENTS}
ANSWERED = [name for name in NAMES if "shell" in name or "resumed" in name]


def shown(event: RunEvent) -> str:
    """An event on a line."""
    values = [getattr(event, field.name) for field in fields(event) if field.name != "kind"]
    return " ".join([type(event).__name__, *(shown_value(value) for value in values if value not in ("", None))])


def shown_value(value: object) -> str:
    match value:
        case Usage():
            cost = "" if value.cost_usd is None else f" ${value.cost_usd}"
            return f"{value.requests} in={value.input_tokens} out={value.output_tokens} c={value.cached_tokens}{cost}"
        case _:
            return str(value)


def told(name: str) -> dict[str, object]:
    seen = replayed(cli_of(name), lines(name), ended(name))
    match seen.outcome:
        case Ok(output):
            outcome = f"Ok {output.text}"
        case Err(error):
            outcome = f"{error.code}: {error.message}"
    return {"outcome": outcome, "events": [shown(event) for event in seen.events]}


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_stream_tells_what_it_should(name: str) -> None:
    assert told(name) == EXPECTED[name]


def test_there_are_streams_of_every_cli() -> None:
    assert sorted(EXPECTED) == NAMES
    assert {cli_of(name) for name in NAMES} == {agent.id for agent in AGENTS}


@pytest.mark.parametrize("name", NAMES)
def test_a_stream_that_is_cut_short_is_no_success(name: str) -> None:
    whole = lines(name)
    for kept, line in enumerate(whole):
        assert isinstance(replayed(cli_of(name), whole[:kept]).outcome, Err), f"{kept} of {len(whole)} lines"
        assert isinstance(replayed(cli_of(name), [*whole[:kept], line[: len(line) // 2]]).outcome, Err)


@pytest.mark.parametrize("name", ANSWERED)
def test_a_process_that_answered_and_then_failed_is_no_success(name: str) -> None:
    outcomes = {
        end: isinstance(replayed(cli_of(name), lines(name), end).outcome, Ok)
        for end in (Ended(code=0), Ended(code=3), Ended(code=-9), Ended(code=-15, was_stopped=True))
    }
    assert list(outcomes.values()) == [True, False, False, True]


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_call_is_answered_once(name: str) -> None:
    events = replayed(cli_of(name), lines(name)).events
    began = [event.call_id for event in events if isinstance(event, ToolStarted)]
    assert began == [event.call_id for event in events if isinstance(event, ToolEnded)]


@pytest.mark.parametrize("cli", TABLES)
def test_what_is_no_record_tells_nothing(cli: str) -> None:
    noise = [b"", b"{", b"[]", b'"text"', b"null", b"\xff\xfe", b'{"type": 1}', b'{"type": "brand.new", "x": 1}', b"{}"]
    assert replayed(cli, noise).events == []


ANY: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(data=st.data())
def test_a_record_of_any_shape_never_raises(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(NAMES))
    dialect = DIALECTS[cli_of(name)]
    reader = dialect.reader(Invocation(request=asked(), folder=Path("/none")))
    for line in lines(name):
        record = json.loads(line)
        for _ in range(data.draw(st.integers(0, 2))):
            spoil(record, data)
        _ = reader.read(json.dumps(record).encode())
    kind = data.draw(st.sampled_from(TABLES[dialect.id]))
    _ = reader.read(json.dumps(data.draw(st.dictionaries(st.text(max_size=5), ANY)) | {"type": kind}).encode())
    end = Ended(code=data.draw(st.integers(-15, 255)), stderr=data.draw(st.text()))
    _ = reader.last(end)
    assert isinstance(reader.outcome(end), Ok | Err)


def spoil(record: JsonValue, data: st.DataObject) -> None:
    """Put something else somewhere into a record, whose type stays."""
    match record:
        case dict() if keys := [key for key in record if key != "type"]:
            key = data.draw(st.sampled_from(keys))
            if not isinstance(record[key], dict | list) or data.draw(st.booleans()):
                record[key] = data.draw(ANY)
            else:
                spoil(record[key], data)
        case [_, *_]:
            spoil(data.draw(st.sampled_from(record)), data)
        case _:
            pass


@pytest.mark.parametrize(
    ("first", "second", "own"),
    [
        ("codex-0.169.0-shell.jsonl", "codex-0.169.0-resumed.jsonl", (100, 20, 40)),
        ("qwen-0.15.10-shell.jsonl", "qwen-0.15.10-resumed.jsonl", (200, 40, 80)),
        ("claude-2.1.197-shell.jsonl", "claude-2.1.197-resumed.jsonl", (140, 20, 40)),
        ("opencode-1.18.33-shell.jsonl", "opencode-1.18.33-resumed.jsonl", (100, 20, 40)),
        ("gemini-0.61.0-shell.jsonl", "gemini-0.61.0-resumed.jsonl", (100, 20, 0)),
    ],
)
def test_a_continued_run_is_charged_for_itself_alone(first: str, second: str, own: tuple[int, int, int]) -> None:
    before = [event.state for event in replayed(cli_of(first), lines(first)).events if isinstance(event, Checkpointed)]
    request = asked(checkpoint=before[-1])
    events = replayed(cli_of(second), lines(second), request=request).events
    total = sum((event.usage for event in events if isinstance(event, UsageAdded)), Usage())
    assert (total.input_tokens, total.output_tokens, total.cached_tokens) == own


def test_what_a_cli_cannot_honour_is_told_with_the_first_record() -> None:
    request = asked(model="google/gemini-9", thinking="high", tools=("read", "paint"))
    events = replayed("gemini", lines("gemini-0.61.0-shell.jsonl"), request=request).events
    assert [event.diagnostic.message for event in events[:3] if isinstance(event, DiagnosticRaised)] == [
        'gemini takes no thinking level, so "high" has no effect.',
        "gemini has no tool for paint, so the subagent does without.",
    ]
