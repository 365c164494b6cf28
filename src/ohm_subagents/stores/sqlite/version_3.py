"""A task of version 3: a row of JSON, a transcript of streamed events, and files with its large outputs."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, cast

from pydantic import TypeAdapter, ValidationError

from ohm_subagents.contract.activity import (
    Activity,
    OpenCall,
)
from ohm_subagents.contract.events import Recorded  # noqa: TC001  pydantic reads the annotation
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.task import apply
from ohm_subagents.store import COUNTED_EVENTS, completed_events, history_of_log, streamed_events, task_from_json
from ohm_subagents.stores.sqlite.place import file_name
from ohm_subagents.stores.sqlite.stored import NOT_AS_WRITTEN, OTHER_TYPES, state_checksum

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.task import Task


class Version3Row(NamedTuple):
    """A row of `tasks` of version 3; where that is damaged, of any types."""

    seq: int
    id: TaskId
    session_id: str
    owner: int
    status: str
    ended_ms: int | None
    record: bytes | str
    large_outputs: str
    checksum: int | None
    expired_ms: int | None
    state: str | None
    state_checksum: int | None

    @property
    def wrong(self) -> str | None:
        """The difference from what was written, or None; version 1 wrote no checksum."""
        if type(self.record) not in {bytes, str} or type(self.id) is not str:
            return OTHER_TYPES
        try:
            numbers: object = json.loads(self.large_outputs)
        except (ValueError, TypeError, RecursionError):
            return NOT_AS_WRITTEN
        if not isinstance(numbers, list) or any(type(each) is not int for each in cast("list[object]", numbers)):
            return NOT_AS_WRITTEN
        if self.checksum is None:
            return None
        columns = "\0".join(map(str, (*self[1:6], self.large_outputs))).encode(errors="replace")
        return None if self.checksum == zlib.crc32(self.content, zlib.crc32(columns)) else NOT_AS_WRITTEN

    @property
    def content(self) -> bytes:
        """The record; a tool that changes it may leave a text."""
        return self.record if isinstance(self.record, bytes) else self.record.encode(errors="surrogateescape")


def version_3_task(row: Version3Row, directory: Path) -> Result[tuple[Task, tuple[Recorded, ...]], str]:
    """Return the state of a task and its events, from its row and its transcript, or why it cannot be read."""
    if row.wrong is not None:
        return Err(row.wrong)
    try:
        record: object = json.loads(row.content)
    except ValueError as exc:
        return Err(str(exc))
    made = task_from_json(cast("dict[str, object]", record)) if isinstance(record, dict) else Err(NOT_AS_WRITTEN)
    if isinstance(made, Err):
        return made
    task = made.ok_value
    name = file_name(row.id)
    outputs = {number: _read(directory / f"{name}.{number}.txt") for number in json.loads(row.large_outputs)}
    runs = tuple(
        replace(run, output=outputs[number].decode(errors="replace")) if outputs.get(number) else run
        for number, run in enumerate((*task.assignment.inherited, *task.runs))
    )
    of_others = len(task.assignment.inherited)
    is_whole = row.state is not None and row.state_checksum in {None, state_checksum(row.state)}
    task = replace(
        task,
        assignment=replace(task.assignment, inherited=runs[:of_others]),
        activity=replace(task.activity, checkpoint=row.state if is_whole else None),
        runs=runs[of_others:],
    )
    return Ok(_with_transcript(task, _read(directory / f"{name}.jsonl")))


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Streamed:
    """A line of a transcript in place of all before it: the disk was too slow for single events."""

    event_total: int
    events: tuple[Recorded, ...]
    calls: tuple[Recorded, ...]
    is_speaking: bool
    open_calls: tuple[OpenCall, ...]
    said: tuple[str, ...]
    files: tuple[str, ...]
    tool_calls: int


@cache
def _streamed() -> TypeAdapter[_Streamed]:
    return TypeAdapter(_Streamed)


def _with_transcript(task: Task, content: bytes) -> tuple[Task, tuple[Recorded, ...]]:
    empty = Activity(max_events=task.activity.max_events)
    blank = replace(task, status="queued", activity=empty, runs=(), diagnostics=(), error=None)
    known: list[Recorded] = []
    total = tool_calls = 0
    files: tuple[str, ...] = ()
    for line in content.split(b"\n"):
        if (state := _state_of(line)) is not None:
            added = {name: getattr(state, name) for name in ("event_total", "events", "calls", "is_speaking", "said")}
            known += streamed_events(
                replace(blank, activity=replace(empty, **added)), _played(blank, known, COUNTED_EVENTS)
            )
            total, tool_calls, files = state.event_total, state.tool_calls, state.files
        else:
            new = history_of_log(line)
            total += sum(isinstance(one.event, COUNTED_EVENTS) for one in new)
            tool_calls += sum(one.event.kind == "tool_ended" for one in new)
            known += new
    events = completed_events(task, known)
    played = _played(blank, events)
    row, streamed = task.activity, played.activity
    is_over = task.is_terminal or (task.runs and task.runs[-1].outcome is not None)
    open_calls = () if is_over else streamed.open_calls
    ended_calls = max(row.usage.tool_calls, tool_calls)  # it counted a call when it ended
    activity = replace(
        row,
        progress_ms=max((ms for ms in (row.progress_ms, streamed.progress_ms) if ms is not None), default=None),
        events=streamed.events,
        calls=streamed.calls,
        event_total=max(row.event_total, total),
        is_speaking=streamed.is_speaking,
        said=streamed.said,
        open_calls=open_calls,
        files=tuple(dict.fromkeys((*files, *streamed.files))),
        usage=replace(row.usage, tool_calls=ended_calls + len(open_calls)),
    )
    return replace(task, updated_ms=max(task.updated_ms, played.updated_ms), activity=activity), events


def _state_of(line: bytes) -> _Streamed | None:
    try:
        return _streamed().validate_json(line) if b'"kind":"state"' in line else None
    except ValidationError:
        return None


def _played(task: Task, known: Iterable[Recorded], kinds: tuple[type, ...] = (object,)) -> Task:
    for one in known:
        if isinstance(one.event, kinds) and one.event.kind != "task_settled":
            task = apply(task, one.event, at_ms=one.at_ms)
    return task
