"""Tasks from the documented JSON file, however damaged."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from pydantic import ValidationError

from ohm_subagents.contract.activity import Activity
from ohm_subagents.contract.errors import ErrorCode, OhmError, as_declared
from ohm_subagents.contract.events import AgentEnded, Event, TextDelta, ToolEnded, ToolStarted, ToolUpdated
from ohm_subagents.contract.ids import CallId, SessionId, TaskId
from ohm_subagents.contract.launch import LaunchRecord
from ohm_subagents.contract.outcome import Cancelled, Failed, Outcome, Succeeded
from ohm_subagents.contract.task import UNAVAILABLE, Assignment, Route, Run, Task, apply
from ohm_subagents.store import Consumer, Hidden, OutboxEntry, Position
from ohm_subagents.stores.snapshot.schema import (
    DeltaEvent,
    EndEvent,
    Entry,
    EntryEvent,
    SavedOutbox,
    StartEvent,
    TerminalEvent,
    UpdateEvent,
)
from ohm_subagents.stores.snapshot.text import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_ENTRY: Final = re.compile(r'\{\s*"record"\s*:')
_ID: Final = re.compile(r'"id"\s*:\s*"([^"]+)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The content of a file."""

    tasks: tuple[Task, ...] = ()
    expired: Mapping[TaskId, str] = field(default_factory=dict[TaskId, str])
    """The reasons why tasks were removed."""
    hidden: Mapping[TaskId, Hidden] = field(default_factory=dict[TaskId, Hidden])
    """Tasks past their time."""
    lost: tuple[str, ...] = ()
    """The id of each entry that cannot be read, and the reason."""
    is_damaged: bool = False
    outbox: tuple[int, tuple[OutboxEntry, ...], tuple[Position, ...]] | None = None
    """The return value of `MemoryOutbox.state`; None if nothing was kept of it."""


def parsed(text: str, *, name_of: Callable[[str], str], max_events: int) -> Contents:
    """Return every task that can be read, with its newest `max_events` events.

    `name_of` gives the name of a profile, which the file does not hold.
    """
    made = partial(_task, name_of=name_of, max_events=max_events)
    try:
        root: object = json.loads(text)
    except ValueError:
        return _salvaged(_pieces(text), made)
    fields = cast("dict[str, object]", root) if isinstance(root, dict) else {}
    entries = fields.get("entries")
    if fields.get("schemaVersion") != SCHEMA or not isinstance(entries, list):
        return replace(
            _salvaged(cast("list[object]", entries) if isinstance(entries, list) else (), made), is_damaged=True
        )
    written = fields.get("launches")
    launches = cast("dict[str, object]", written) if isinstance(written, dict) else {}

    def launched(entry: Entry) -> Task:
        task = made(entry)
        return replace(task, launch=LaunchRecord.from_json(launches.get(task.id)))

    found = _salvaged(cast("list[object]", entries), launched)
    reasons, hidden = _removed(fields.get("expired"), launched)
    kept = _outbox(fields.get("outbox"), launched)
    return replace(found, expired=reasons, hidden=hidden, is_damaged=bool(found.lost), outbox=kept)


def _outbox(
    value: object, made: Callable[[Entry], Task]
) -> tuple[int, tuple[OutboxEntry, ...], tuple[Position, ...]] | None:
    """Return the consumers, and the settled tasks that one of them awaits."""
    try:
        saved = SavedOutbox.model_validate(value)
    except ValidationError:
        return None
    entries = tuple(
        OutboxEntry(sequence=each.sequence, task=replace(made(each.entry), session_id=SessionId(each.session_id)))
        for each in saved.entries
    )
    positions = tuple(
        Position(
            consumer=Consumer(
                name=each.name, session=None if each.session is None else SessionId(each.session), calls=each.calls
            ),
            sequence=each.sequence,
            acknowledged={*each.acknowledged},
            missed=each.missed,
        )
        for each in saved.consumers
    )
    return saved.head, entries, positions


def _removed(value: object, made: Callable[[Entry], Task]) -> tuple[dict[TaskId, str], dict[TaskId, Hidden]]:
    """Return why tasks were removed, and those of them that are only hidden."""
    reasons: dict[TaskId, str] = {}
    hidden: dict[TaskId, Hidden] = {}
    for task_id, written in (cast("dict[str, object]", value) if isinstance(value, dict) else {}).items():
        fields = cast("dict[str, object]", written) if isinstance(written, dict) else {"why": written}
        if isinstance(why := fields.get("why"), str):
            reasons[TaskId(task_id)] = why
        if type(at_ms := fields.get("atEpochMs")) is int:
            with suppress(ValidationError):
                hidden[TaskId(task_id)] = Hidden(task=made(Entry.model_validate(fields.get("entry"))), at_ms=at_ms)
    return reasons, hidden


def _salvaged(entries: Iterable[object], made: Callable[[Entry], Task]) -> Contents:
    tasks: list[Task] = []
    lost: list[str] = []
    for entry in entries:
        try:
            tasks.append(made(Entry.model_validate(entry)))
        except ValidationError as exc:
            wrong = exc.errors()[0]
            place = ".".join(str(part) for part in wrong["loc"])
            lost.append(f"{_id_in(entry)} ({f'{place}: ' if place else ''}{wrong['msg']})")
    return Contents(tasks=tuple(tasks), lost=tuple(lost), is_damaged=True)


def _pieces(text: str) -> Iterator[object]:
    """Yield the entries of a text that is no JSON, for example because its end is missing."""
    decoder, end = json.JSONDecoder(), 0
    for found in _ENTRY.finditer(text):
        if found.start() < end:
            continue
        try:
            entry, end = decoder.raw_decode(text, found.start())
            yield entry
        except ValueError:
            yield text[found.start() : found.start() + 2000]


def _id_in(entry: object) -> str:
    found = _ID.search(entry if isinstance(entry, str) else json.dumps(entry))
    return f"'{found[1]}'" if found else "an entry without an id"


def _task(entry: Entry, *, name_of: Callable[[str], str], max_events: int) -> Task:
    record = entry.record
    task = Task(
        id=TaskId(record.id),
        session_id=SessionId(f"session_{record.id.removeprefix('task_')}"),
        assignment=Assignment(
            profile=record.subagent_type,
            name=name_of(record.subagent_type),
            description=record.description,
            prompt=record.prompt,
            invocation=entry.invocation,
            call=None if entry.call_id is None else CallId(entry.call_id),
            backend=entry.backend,
            created_ms=record.started_at_epoch_ms,
        ),
        activity=Activity(max_events=max_events),
        route=Route(
            provider=entry.provider or UNAVAILABLE,
            model=entry.model or UNAVAILABLE,
            runtime=entry.runtime or entry.backend,
            route=entry.route or entry.backend,
        ),
        updated_ms=record.updated_at_epoch_ms,
        status="running",
        summary=entry.summary,
        started_ms=record.started_at_epoch_ms if record.total_tool_calls else None,
    )
    for event in entry.events:
        task = apply(task, _event(event), at_ms=int(event.at_epoch_ms))
    if record.state not in {"queued", "running"}:
        task = replace(task, activity=replace(task.activity, open_calls=()))
    return replace(
        task,
        status=record.state,
        updated_ms=record.updated_at_epoch_ms,
        ended_ms=record.ended_at_epoch_ms,
        runs=_runs(entry),
        error=_error(entry) if _has_failed(entry) else None,
    )


def _runs(entry: Entry) -> tuple[Run, ...]:
    """Return a run for each prompt that was begun; the newest has what is known of the answer."""
    record = entry.record
    count = max(record.total_tool_calls, 1 if entry.output else 0)
    prompts = (record.prompt, *entry.follow_up_prompts)[:count]
    if not prompts:
        return ()
    done = [
        Run(
            prompt=prompt,
            started_ms=record.started_at_epoch_ms,
            ended_ms=record.updated_at_epoch_ms,
            outcome=Succeeded(),
        )
        for prompt in prompts
    ]
    newest = replace(done[-1], output=entry.output, outcome=_outcome(entry))
    if newest.outcome is None:
        newest = replace(newest, ended_ms=None)
    return (*done[:-1], newest)


def _outcome(entry: Entry) -> Outcome | None:
    match entry.record.state:
        case "succeeded":
            return Succeeded()
        case "failed":
            return Failed(error=_error(entry))
        case "cancelled":
            return Cancelled(reason=entry.summary)
        case "queued" | "running":
            return None if entry.record.active_tool_calls else Succeeded()


def _has_failed(entry: Entry) -> bool:
    """Return True if it failed, or holds an error all the same, as a task that was cancelled may."""
    record = entry.record
    texts = (entry.error_code, entry.error_message, record.last_error_code, record.last_error_message)
    return record.state == "failed" or (record.state not in {"queued", "running"} and any(texts))


def _error(entry: Entry) -> OhmError:
    unsaid = ErrorCode.TASK_ABORTED if entry.record.state == "cancelled" else ErrorCode.BACKEND_FAILED
    code = entry.error_code or entry.record.last_error_code or unsaid
    message = entry.error_message or entry.record.last_error_message or entry.summary
    return OhmError(code=as_declared(code), message=message, task_id=entry.record.id)


def _event(event: EntryEvent) -> Event:
    match event:
        case DeltaEvent():
            return TextDelta(text=event.delta)
        case StartEvent():
            return ToolStarted(call_id=event.tool_call_id, tool=event.tool_name, args=event.args_text)
        case UpdateEvent():
            return ToolUpdated(call_id=event.tool_call_id, tool=event.tool_name, text=event.partial_text)
        case EndEvent():
            return ToolEnded(
                call_id=event.tool_call_id, tool=event.tool_name, status=event.status, text=event.result_text
            )
        case TerminalEvent():
            return AgentEnded()
