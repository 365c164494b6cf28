"""Tasks from the documented JSON file (task-v1, 13), however damaged."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Final, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from ohm_subagents._store.record import error_of
from ohm_subagents._store.snapshot_text import SCHEMA
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.events import (
    AgentEnded,
    Cancelled,
    Event,
    Failed,
    Outcome,
    Succeeded,
    TextDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
)
from ohm_subagents.contract.ids import SessionId, TaskId
from ohm_subagents.contract.run import Run
from ohm_subagents.contract.task import UNAVAILABLE, Invocation, Route, Status, Task, apply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

_ENTRY: Final = re.compile(r'\{\s*"record"\s*:')
_ID: Final = re.compile(r'"id"\s*:\s*"([^"]+)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a file holds; `lost` says of each entry that is not among the tasks which one it is, and why."""

    tasks: tuple[Task, ...] = ()
    expired: Mapping[TaskId, str]
    lost: tuple[str, ...] = ()
    is_damaged: bool = False


def _filled(value: object) -> object:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("is blank")
    return value


def _or_nothing(value: object) -> object:
    return value if isinstance(value, str) and value.strip() else None


def _prompts(value: object) -> list[str]:
    found = cast("list[object]", value) if isinstance(value, list) else []
    return [one.strip() for one in found if isinstance(one, str) and one.strip()]


Filled = Annotated[str, BeforeValidator(_filled)]
Optional = Annotated[str | None, BeforeValidator(_or_nothing)]
Count = Annotated[int, Field(ge=0, strict=True)]


class _Part(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, alias_generator=to_camel, populate_by_name=True)


class _Record(_Part):
    model_config = ConfigDict(extra="forbid")

    id: Filled
    subagent_type: Filled
    description: Filled
    prompt: Filled
    state: Status
    total_tool_calls: Count
    active_tool_calls: Count
    started_at_epoch_ms: Count
    updated_at_epoch_ms: Count
    ended_at_epoch_ms: Count | None = None
    last_error_code: str | None = None
    last_error_message: str | None = None

    @model_validator(mode="after")
    def _fits_its_state(self) -> _Record:
        if self.state in {"queued", "running"}:
            if {self.ended_at_epoch_ms, self.last_error_code, self.last_error_message} != {None}:
                raise ValueError("it is active and has an end")
        elif self.ended_at_epoch_ms is None or self.ended_at_epoch_ms < self.started_at_epoch_ms:
            raise ValueError("it ended before it began")
        elif self.active_tool_calls or (self.state == "failed" and not (self.last_error_message or "").strip()):
            raise ValueError("it has ended and does not say how")
        return self


class _Event(_Part):
    at_epoch_ms: float = Field(ge=0, allow_inf_nan=False)


class _Delta(_Event):
    type: Literal["assistant_text_delta"]
    delta: str


class _Start(_Event):
    type: Literal["tool_start"]
    tool_call_id: Filled
    tool_name: Filled
    args_text: str = ""


class _Update(_Event):
    type: Literal["tool_update"]
    tool_call_id: Filled
    tool_name: Filled
    partial_text: str = ""


class _End(_Event):
    type: Literal["tool_end"]
    tool_call_id: Filled
    tool_name: Filled
    status: Literal["success", "error"]
    result_text: str = ""


class _Terminal(_Event):
    type: Literal["task_terminal"]
    terminal: Literal["agent_end"]


class _Entry(_Part):
    record: _Record
    summary: Filled
    output: Optional = None
    backend: Filled
    provider: Optional = None
    model: Optional = None
    runtime: Optional = None
    route: Optional = None
    invocation: Invocation
    follow_up_prompts: Annotated[tuple[str, ...], BeforeValidator(_prompts)] = ()
    error_code: Optional = None
    error_message: Optional = None
    events: tuple[Annotated[_Delta | _Start | _Update | _End | _Terminal, Field(discriminator="type")], ...] = ()


_TEXTS: Final = TypeAdapter(dict[str, str])


def parsed(text: str, *, name_of: Callable[[str], str]) -> Contents:
    """Every task that can be had; `name_of` gives the name of a profile, which the file does not hold."""
    try:
        root: object = json.loads(text)
    except ValueError:
        return _salvaged(_pieces(text), name_of)
    fields = cast("dict[str, object]", root) if isinstance(root, dict) else {}
    entries = fields.get("entries")
    if fields.get("schemaVersion") != SCHEMA or not isinstance(entries, list):
        return replace(
            _salvaged(cast("list[object]", entries) if isinstance(entries, list) else (), name_of), is_damaged=True
        )
    found = _salvaged(cast("list[object]", entries), name_of)
    return replace(found, expired=_expired(fields.get("expired")), is_damaged=bool(found.lost))


def _expired(value: object) -> Mapping[TaskId, str]:
    try:
        return {TaskId(task_id): why for task_id, why in _TEXTS.validate_python(value or {}).items()}
    except ValidationError:
        return {}


def _salvaged(entries: Iterable[object], name_of: Callable[[str], str]) -> Contents:
    tasks: list[Task] = []
    lost: list[str] = []
    for entry in entries:
        try:
            tasks.append(_task(_Entry.model_validate(entry), name_of))
        except ValidationError as exc:
            wrong = exc.errors()[0]
            place = ".".join(str(part) for part in wrong["loc"])
            lost.append(f"{_id_in(entry)} ({f'{place}: ' if place else ''}{wrong['msg']})")
    return Contents(tasks=tuple(tasks), expired={}, lost=tuple(lost), is_damaged=True)


def _pieces(text: str) -> Iterator[object]:
    """The entries of a text that is no JSON, say because its end is missing."""
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


def _task(entry: _Entry, name_of: Callable[[str], str]) -> Task:
    record = entry.record
    task = Task(
        id=TaskId(record.id),
        session_id=SessionId(f"session_{record.id.removeprefix('task_')}"),
        profile=record.subagent_type,
        name=name_of(record.subagent_type),
        description=record.description,
        prompt=record.prompt,
        invocation=entry.invocation,
        backend=entry.backend,
        route=Route(
            provider=entry.provider or UNAVAILABLE,
            model=entry.model or UNAVAILABLE,
            runtime=entry.runtime or entry.backend,
            route=entry.route or entry.backend,
        ),
        created_ms=record.started_at_epoch_ms,
        updated_ms=record.updated_at_epoch_ms,
        status="running",
        summary=entry.summary,
        started_ms=record.started_at_epoch_ms if record.total_tool_calls else None,
    )
    for event in entry.events:
        task = apply(task, _event(event), at_ms=int(event.at_epoch_ms))
    is_active = record.state in {"queued", "running"}
    return replace(
        task,
        status=record.state,
        updated_ms=record.updated_at_epoch_ms,
        ended_ms=record.ended_at_epoch_ms,
        runs=_runs(entry),
        open_calls=task.open_calls if is_active else (),
        error=_error(entry) if record.state == "failed" else None,
    )


def _runs(entry: _Entry) -> tuple[Run, ...]:
    """One a prompt that was begun; the newest has what is known of the answer."""
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


def _outcome(entry: _Entry) -> Outcome | None:
    match entry.record.state:
        case "succeeded":
            return Succeeded()
        case "failed":
            return Failed(error=_error(entry))
        case "cancelled":
            return Cancelled(reason=entry.summary)
        case "queued" | "running":
            return None if entry.record.active_tool_calls else Succeeded()


def _error(entry: _Entry) -> OhmError:
    code = entry.error_code or entry.record.last_error_code or ErrorCode.BACKEND_FAILED
    message = entry.error_message or entry.record.last_error_message or entry.summary
    return error_of(OhmError(code=code, message=message, task_id=entry.record.id))


def _event(event: _Delta | _Start | _Update | _End | _Terminal) -> Event:
    match event:
        case _Delta():
            return TextDelta(text=event.delta)
        case _Start():
            return ToolStarted(call_id=event.tool_call_id, tool=event.tool_name, args=event.args_text)
        case _Update():
            return ToolUpdated(call_id=event.tool_call_id, tool=event.tool_name, text=event.partial_text)
        case _End():
            return ToolEnded(
                call_id=event.tool_call_id, tool=event.tool_name, status=event.status, text=event.result_text
            )
        case _Terminal():
            return AgentEnded()
