"""The streamed events of a task as lines of JSON, in the order in which they came; and what they add up to."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter, ValidationError

from ohm_subagents._store.record import encoded
from ohm_subagents.contract.event_json import events
from ohm_subagents.contract.events import (
    AgentEnded,
    Checkpointed,
    Event,
    FileChanged,
    FollowUpTaken,
    Recorded,
    RequestHeld,
    RequestReleased,
    RunEnded,
    RunStarted,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    UsageAdded,
)
from ohm_subagents.contract.run import OpenCall, Run
from ohm_subagents.contract.task import Task, apply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

Stamped = tuple[int, Event]
"""An event and its time in epoch milliseconds."""

STREAMED: Final[frozenset[type]] = frozenset(
    {
        TextDelta,
        ThinkingDelta,
        ToolStarted,
        ToolUpdated,
        ToolEnded,
        AgentEnded,
        FileChanged,
        RequestHeld,
        RequestReleased,
    }
)
"""What only the transcript holds; everything else is a row."""
_UNWRITTEN: Final = (Checkpointed, UsageAdded)
_COUNTED: Final = (TextDelta, AgentEnded, ToolStarted, ToolUpdated, ToolEnded)
_PLAYED: Final = (*STREAMED, RunStarted, FollowUpTaken, RunEnded)
_STATE: Final = "state"


@dataclass(frozen=True, slots=True, kw_only=True)
class Streamed:
    """What the events so far add up to: a line of its own where the disk was too slow for each of them."""

    event_total: int
    events: tuple[Recorded, ...]
    calls: tuple[Recorded, ...]
    is_speaking: bool
    open_calls: tuple[OpenCall, ...]
    said: tuple[str, ...]
    files: tuple[str, ...]
    tool_calls: int
    kind: str = _STATE

    @classmethod
    def of(cls, task: Task) -> Streamed:
        """The streamed side of a task."""
        activity = task.activity
        return cls(
            event_total=activity.event_total,
            events=activity.events,
            calls=activity.calls,
            is_speaking=activity.is_speaking,
            open_calls=activity.open_calls,
            said=("".join(activity.said),),
            files=activity.files,
            tool_calls=activity.usage.tool_calls,
        )

    def onto(self, task: Task) -> Task:
        """`task` with this as its streamed side, but for the tool calls, which are counted."""
        activity = replace(
            task.activity,
            event_total=self.event_total,
            events=self.events,
            calls=self.calls,
            is_speaking=self.is_speaking,
            open_calls=self.open_calls,
            said=self.said if self.said != ("",) else (),
            files=self.files,
        )
        return replace(task, activity=activity)


@cache
def _states() -> TypeAdapter[Streamed]:
    return TypeAdapter(Streamed)


def state_line(task: Task) -> bytes:
    """One line in place of all before it."""
    return encoded(_states(), Streamed.of(task)) + b"\n"


def lines(stamped: Sequence[Stamped]) -> bytes:
    """A line an event; neighbours of one stream share a line, with the lengths and delays of the pieces."""
    text = bytearray()
    start = 0
    while start < len(stamped):
        at_ms, event = stamped[start]
        end = start + 1
        if isinstance(event, TextDelta | ThinkingDelta):
            while end < len(stamped) and type(stamped[end][1]) is type(event):
                end += 1
            text += _delta_line(stamped[start:end])
        elif not isinstance(event, _UNWRITTEN):
            text += _line(at_ms, event)
        start = end
    return bytes(text)


def _line(at_ms: int, event: Event) -> bytes:
    if isinstance(event, RunEnded):
        event = replace(event, output="")  # the row has it
    return b'{"at_ms":%d,%b\n' % (at_ms, encoded(events(), event)[1:])


def _delta_line(stamped: Sequence[Stamped]) -> bytes:
    began_ms, first = stamped[0]
    pieces = [event.text for _, event in stamped if isinstance(event, TextDelta | ThinkingDelta)]
    line: dict[str, object] = {"at_ms": began_ms, "kind": first.kind, "text": "".join(pieces)}
    if len(pieces) > 1:
        line |= {"lengths": [len(piece) for piece in pieces], "after_ms": [at_ms - began_ms for at_ms, _ in stamped]}
    return json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode(errors="replace") + b"\n"


def parsed(content: bytes) -> Iterator[Stamped | Streamed]:
    """What `lines` wrote. A line that was torn, or that another version wrote, is left out."""
    for line in content.split(b"\n"):
        try:
            fields = json.loads(line)
            if fields["kind"] == _STATE:
                yield _states().validate_json(line)
            elif "lengths" in fields:
                yield from _pieces(fields["at_ms"], fields["kind"], fields)
            else:
                yield int(fields.pop("at_ms")), events().validate_python(fields)
        except (ValueError, KeyError, TypeError, ValidationError):
            continue


def _pieces(began_ms: int, kind: str, fields: dict[str, list[int]]) -> list[Stamped]:
    text, ends = str(fields["text"]), list(accumulate(fields["lengths"]))
    make = TextDelta if kind == "text_delta" else ThinkingDelta
    starts = [0, *ends[:-1]]
    return [
        (began_ms + after_ms, make(text=text[start:end]))
        for start, end, after_ms in zip(starts, ends, fields["after_ms"], strict=True)
    ]


def replayed(task: Task, content: bytes) -> Task:
    """The task of a row with what its transcript says was streamed, also after the row was written."""
    if not content:
        return task
    state: Streamed | None = None
    stamped: list[Stamped] = []
    for entry in parsed(content):
        if isinstance(entry, Streamed):
            state, stamped = entry, []
        elif isinstance(entry[1], _PLAYED):
            stamped.append(entry)
    row = task.activity
    played = replace(
        task,
        status="running",
        runs=task.runs or (Run(prompt="", started_ms=task.assignment.created_ms),),
        activity=replace(row, event_total=0),
    )
    if state is not None:
        played = state.onto(played)
    is_known = max(row.event_total, 0 if state is None else state.event_total) - played.activity.event_total
    counted = [event for _, event in stamped if isinstance(event, _COUNTED)]
    new_calls = sum(isinstance(event, ToolEnded) for event in counted[max(0, is_known) :])
    for at_ms, event in _merged(stamped, row.max_events):
        played = apply(played, event, at_ms=at_ms)
    tool_calls = max(row.usage.tool_calls, 0 if state is None else state.tool_calls) + new_calls
    is_over = task.is_terminal or (task.runs and task.runs[-1].outcome is not None)
    told = played.activity
    activity = replace(
        row,
        progress_ms=max((ms for ms in (row.progress_ms, told.progress_ms) if ms is not None), default=None),
        events=told.events,
        calls=told.calls,
        event_total=(0 if state is None else state.event_total) + len(counted),
        is_speaking=told.is_speaking,
        said=told.said,
        open_calls=() if is_over else told.open_calls,
        files=told.files,
        usage=replace(row.usage, tool_calls=tool_calls),
    )
    return replace(task, updated_ms=max(task.updated_ms, played.updated_ms), activity=activity)


def _merged(stamped: Sequence[Stamped], max_events: int) -> Iterator[Stamped]:
    """The same events with neighbouring texts as one, but for the newest, which the task keeps as they came."""
    to_merge = sum(isinstance(event, _COUNTED) for _, event in stamped) - max_events
    old: deque[str] = deque()
    merged_ms = 0
    for at_ms, event in stamped:
        if isinstance(event, _COUNTED):
            to_merge -= 1
            if to_merge >= 0 and isinstance(event, TextDelta):
                old.append(event.text)
                merged_ms = at_ms
                continue
        yield from _flushed(old, merged_ms)
        yield at_ms, event
    yield from _flushed(old, merged_ms)


def _flushed(old: deque[str], at_ms: int) -> Iterable[Stamped]:
    if old:
        yield at_ms, TextDelta(text="".join(old))
        old.clear()
