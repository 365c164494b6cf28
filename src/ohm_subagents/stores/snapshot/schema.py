"""The entries of the documented JSON file, as they have to be."""

from __future__ import annotations

from typing import Annotated, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from ohm_subagents.contract.task import Invocation, Status


def _filled(value: object) -> object:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("is blank")
    return value


def _or_nothing(value: object) -> object:
    return value if isinstance(value, str) and value.strip() else None


def _prompts(value: object) -> list[str]:
    found = cast("list[object]", value) if isinstance(value, list) else []
    return [one.strip() for one in found if isinstance(one, str) and one.strip()]


def _trimmed(value: object) -> str:
    return str(_filled(value)).strip()


Trimmed = Annotated[str, BeforeValidator(_trimmed)]
Filled = Annotated[str, BeforeValidator(_filled)]
Optional = Annotated[str | None, BeforeValidator(_or_nothing)]
Count = Annotated[int, Field(ge=0, strict=True)]


class _Part(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, alias_generator=to_camel, populate_by_name=True)


class Record(_Part):
    model_config = ConfigDict(extra="forbid")

    id: Trimmed
    subagent_type: Trimmed
    description: Trimmed
    prompt: Trimmed
    state: Status
    total_tool_calls: Count
    active_tool_calls: Count
    started_at_epoch_ms: Count
    updated_at_epoch_ms: Count
    ended_at_epoch_ms: Count | None = None
    last_error_code: str | None = None
    last_error_message: str | None = None

    @model_validator(mode="after")
    def _fits_its_state(self) -> Record:
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


class DeltaEvent(_Event):
    type: Literal["assistant_text_delta"]
    delta: str


class StartEvent(_Event):
    type: Literal["tool_start"]
    tool_call_id: Filled
    tool_name: Filled
    args_text: str = ""


class UpdateEvent(_Event):
    type: Literal["tool_update"]
    tool_call_id: Filled
    tool_name: Filled
    partial_text: str = ""


class EndEvent(_Event):
    type: Literal["tool_end"]
    tool_call_id: Filled
    tool_name: Filled
    status: Literal["success", "error"]
    result_text: str = ""


class TerminalEvent(_Event):
    type: Literal["task_terminal"]
    terminal: Literal["agent_end"]


EntryEvent = Annotated[DeltaEvent | StartEvent | UpdateEvent | EndEvent | TerminalEvent, Field(discriminator="type")]


class Entry(_Part):
    record: Record
    summary: Filled
    output: Optional = None
    backend: Filled
    provider: Optional = None
    model: Optional = None
    runtime: Optional = None
    route: Optional = None
    invocation: Invocation
    call_id: Optional = None
    follow_up_prompts: Annotated[tuple[str, ...], BeforeValidator(_prompts)] = ()
    error_code: Optional = None
    error_message: Optional = None
    events: tuple[EntryEvent, ...] = ()


class SavedEntry(_Part):
    sequence: Count
    session_id: Filled
    entry: Entry


class SavedConsumer(_Part):
    name: Filled
    session: Optional = None
    calls: Optional = None
    sequence: Count
    acknowledged: tuple[Count, ...] = ()
    missed: Count = 0


class SavedOutbox(_Part):
    head: Count
    entries: tuple[SavedEntry, ...] = ()
    consumers: tuple[SavedConsumer, ...] = ()
