"""The log of a task as lines of JSON, oldest first. A task is the fold of its log.

A `state` line holds a whole task: one that was created, or one that was kept somewhere else before. The events after
the last of them change it.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, TypeAlias

from pydantic_core import PydanticSerializationError, from_json, to_json

from ohm_subagents._store.history import COUNTED_EVENTS
from ohm_subagents._store.records import event_json_bytes, task_from_json, task_to_json
from ohm_subagents.contract.event_json import event_from_json
from ohm_subagents.contract.events import (
    Checkpointed,
    Event,
    Recorded,
    TextDelta,
    ThinkingDelta,
)
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.task import Task, apply

Stamped: TypeAlias = tuple[int, Event]
Entry: TypeAlias = Stamped | Task | bytes
_STATE: Final = "state"
_KINDS: Final = {"text_delta": TextDelta, "thinking_delta": ThinkingDelta}
_ELSEWHERE: Final = frozenset({"checkpoint"})
"""A table of its own has it."""


# Writing


def log_lines(entries: Sequence[Entry], failed: Callable[[Exception], None]) -> bytes:
    """Write entries: a `Task` as a state, bytes as they are. Neighbouring texts of one stream share a line.

    An entry that cannot be written is left out; `failed` gets the reason.
    """
    text = bytearray()
    for group in _groups(entries):
        try:
            text += _line(group)
        except Exception as exc:  # noqa: BLE001  a backend's event may hold anything; it costs itself only
            failed(exc)
            for entry in group:
                with suppress(Exception):
                    text += _line([entry])
    return bytes(text)


def merged(entries: Sequence[Entry]) -> list[Entry]:
    """Return the same entries in less memory: neighbouring texts of one stream as the line that they will be."""
    short: list[Entry] = []
    for group in _groups(entries):
        try:
            short += [_text_line(group)] if len(group) > 1 else group
        except TypeError:  # a value that is no text: the writer reports it
            short += group
    return short


def _groups(entries: Sequence[Entry]) -> Iterator[list[Any]]:
    group: list[Entry] = []
    stream: type | None = None
    for entry in entries:
        kind = type(entry[1]) if isinstance(entry, tuple) else None
        if kind is not stream or kind not in {TextDelta, ThinkingDelta}:
            if group:
                yield group
            group, stream = [], kind
        group.append(entry)
    if group:
        yield group


def _line(group: list[Any]) -> bytes:
    entry = group[0]
    if isinstance(entry, bytes):
        return entry
    if isinstance(entry, Task):
        return b'{"kind":"state","task":%b}\n' % task_to_json(entry, without=_ELSEWHERE)
    if isinstance(entry[1], TextDelta | ThinkingDelta):
        return _text_line(group)
    if isinstance(entry[1], Checkpointed):  # the newest one has a table of its own
        return b""
    return b'{"at_ms":%d,%b\n' % (entry[0], event_json_bytes(entry[1])[1:])


def _text_line(group: list[Any]) -> bytes:
    began_ms, first = group[0]
    pieces = [event.text for _, event in group]
    line: dict[str, object] = {"at_ms": began_ms, "kind": first.kind, "text": "".join(pieces)}
    if len(pieces) > 1:
        line |= {"lengths": [len(piece) for piece in pieces], "after_ms": [at_ms - began_ms for at_ms, _ in group]}
    try:
        return to_json(line) + b"\n"
    except (PydanticSerializationError, UnicodeEncodeError):  # text that is no Unicode is replaced
        return json.dumps(line, ensure_ascii=False).encode(errors="replace") + b"\n"


# Reading


class _Pieces:
    """A line of texts that were streamed one after the other; made into events only where it matters."""

    __slots__ = ("_fields", "_kind", "count")

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields
        self._kind = _KINDS[fields["kind"]]
        self.count = len(fields["lengths"])

    @property
    def is_counted(self) -> bool:
        """True for what `event_total` of a task counts."""
        return self._kind is TextDelta

    def events(self, newest: int) -> Iterator[Stamped]:
        """Yield so many of the newest as they were, and before them all older ones as one event."""
        began_ms, text, kind = self._fields["at_ms"], self._fields["text"], self._kind
        lengths, after_ms = self._fields["lengths"], self._fields["after_ms"]
        older = self.count - min(max(0, newest), self.count)
        end = sum(lengths[:older])
        if older:
            yield began_ms + after_ms[older - 1], kind(text=text[:end])
        for number in range(older, self.count):
            start, end = end, end + lengths[number]
            yield began_ms + after_ms[number], kind(text=text[start:end])


def task_of_log(content: bytes) -> Result[Task, str]:
    """Return the task of a log, without its checkpoint, or why there is none."""
    state: dict[str, Any] | None = None
    after: list[_Pieces | Stamped] = []
    for entry in _parsed(content):
        if isinstance(entry, dict):
            state, after = entry, []
        else:
            after.append(entry)
    if state is None:
        return Err("it says nothing of a task")
    made = task_from_json(state)
    if isinstance(made, Err):
        return made
    task = made.ok_value
    left = sum(map(_counted, after))
    event_total, newest = task.activity.event_total + left, task.activity.max_events
    for entry in after:
        left -= _counted(entry)
        if not isinstance(entry, _Pieces):
            task = apply(task, entry[1], at_ms=entry[0])
        else:  # the newest events are kept one by one
            for at_ms, event in entry.events(newest - left if entry.is_counted else 0):
                task = apply(task, event, at_ms=at_ms)
    return Ok(replace(task, activity=replace(task.activity, event_total=event_total)))


def _counted(entry: _Pieces | Stamped) -> int:
    if isinstance(entry, _Pieces):
        return entry.count if entry.is_counted else 0
    return isinstance(entry[1], COUNTED_EVENTS)


def history_of_log(content: bytes) -> tuple[Recorded, ...]:
    """Return all events of a log."""
    found: list[Recorded] = []
    for entry in _parsed(content):
        if not isinstance(entry, dict):
            stamped = entry.events(entry.count) if isinstance(entry, _Pieces) else (entry,)
            found += [Recorded(at_ms=at_ms, event=event) for at_ms, event in stamped]
    return tuple(found)


def _parsed(content: bytes) -> Iterator[dict[str, Any] | _Pieces | Stamped]:
    """Yield states and events; a line that another version wrote is left out."""
    for line in content.split(b"\n"):
        try:
            fields: dict[str, Any] = from_json(line)
            if fields["kind"] == _STATE:
                yield fields["task"]
            elif "lengths" in fields:
                yield _Pieces(fields)
            else:
                yield int(fields.pop("at_ms")), event_from_json(fields)
        except (ValueError, KeyError, TypeError):
            continue
