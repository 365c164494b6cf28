"""The task.v1 envelope of a reply: the form that hosts and models read. A key that does not apply is absent."""

from __future__ import annotations

from typing import Generic, Literal

from pydantic import BaseModel, ConfigDict, JsonValue, TypeAdapter
from typing_extensions import TypeVar

from ohm_subagents.contract.commands import Op
from ohm_subagents.contract.errors import Category
from ohm_subagents.contract.events import Guard
from ohm_subagents.contract.replies import WaitStatus
from ohm_subagents.contract.task import Invocation, Status

DataT = TypeVar("DataT", default=JsonValue)
"""The type of an answer."""
BatchStatus = Literal["accepted", "partial", "completed", "rejected"]

ADDITIONS = frozenset(
    {
        "usage",
        "duration_ms",
        "session_id",
        "diagnostics",
        "error_advice",
        "resumed_from",
        "files",
        "stopped_by",
        "last_progress_at_epoch_ms",
        "queue_position",
        "activity",
        "data",
    }
)
"""The keys that we add to task.v1; none of them changes a documented one."""


class _Record(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True)

    def payload(self) -> dict[str, JsonValue]:
        """Plain JSON, without the keys that do not apply."""
        return self.model_dump(mode="json", exclude_none=True)


class UsageBlock(_Record):
    """The usage of the task over all its runs; `cost_usd` only when the model has a price."""

    requests: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    tool_calls: int
    cost_usd: str | None = None


class _Failure(_Record):
    error_code: str | None = None
    error_category: Category | None = None
    error_message: str | None = None
    error_advice: str | None = None


class _Work(_Failure):
    """The facts about one task, in a single result and in an item alike."""

    subagent_type: str | None = None
    prompt: str | None = None
    description: str | None = None
    invocation: Invocation | None = None
    output_available: bool | None = None
    output: str | None = None
    output_truncated: bool | None = None
    output_total_chars: int | None = None
    output_returned_chars: int | None = None
    tool_rows: list[str] | None = None
    event_count: int | None = None
    assistant_text: str | None = None
    usage: UsageBlock | None = None
    duration_ms: int | None = None
    session_id: str | None = None
    resumed_from: str | None = None
    files: list[str] | None = None
    stopped_by: Guard | None = None
    last_progress_at_epoch_ms: int | None = None
    queue_position: int | None = None
    activity: str | None = None
    diagnostics: list[str] | None = None


class _Head(_Record):
    contract_version: Literal["task.v1"] = "task.v1"
    op: Op
    status: Status
    summary: str
    backend: str
    provider: str
    model: str
    runtime: str
    route: str


class Envelope(_Work, _Head, Generic[DataT]):
    """One task, or a call that was refused; the shape of `start` and `send`.

    `data` is the answer as the `result_type` of the call, or as JSON where the profile has a `result_schema`; only a
    program gets it, never a model.
    """

    task_id: str | None = None
    data: DataT | None = None


class CancelEnvelope(Envelope):
    """One task that was asked to stop; `cancel_applied` is False when it was settled before."""

    op: Op = "cancel"
    cancel_applied: bool
    prior_status: Status


class Item(_Work):
    """One task of several; a refused or unknown one has no status and no backend."""

    id: str
    found: bool
    status: Status | None = None
    summary: str
    backend: str | None = None
    provider: str
    model: str
    runtime: str
    route: str
    updated_at_epoch_ms: int | None = None
    ended_at_epoch_ms: int | None = None


class _Several(_Failure, _Head):
    items: list[Item]
    diagnostics: list[str] | None = None


class BatchEnvelope(_Several):
    """The result of a batch: its items in input order, and how they add up."""

    op: Op = "start"
    total_count: int
    accepted_count: int
    rejected_count: int
    batch_status: BatchStatus


class StatusEnvelope(_Several):
    """The newest state of tasks, in the order asked for."""

    op: Op = "status"
    timed_out: bool = False


class WaitEnvelope(_Several):
    """Tasks that a call waited for; a progress frame has neither `wait_status` nor `timed_out`."""

    op: Op = "wait"
    done: bool
    wait_status: WaitStatus | None = None
    timed_out: bool | None = None


AnyEnvelope = Envelope | CancelEnvelope | BatchEnvelope | StatusEnvelope | WaitEnvelope


def envelope_schema() -> dict[str, JsonValue]:
    """JSON Schema of every envelope, as payloads are written: a key that does not apply is absent, never null."""
    schema: dict[str, JsonValue] = TypeAdapter[AnyEnvelope](AnyEnvelope).json_schema(mode="serialization")
    return {name: _without_null(part) for name, part in schema.items()}


def _without_null(part: JsonValue) -> JsonValue:
    if isinstance(part, list):
        return [_without_null(each) for each in part]
    if not isinstance(part, dict):
        return part
    kept = {name: _without_null(each) for name, each in part.items() if not (name == "default" and each is None)}
    choices = kept.get("anyOf")
    if not isinstance(choices, list) or {"type": "null"} not in choices:
        return kept
    choices = [choice for choice in choices if choice != {"type": "null"}]
    if len(choices) == 1 and isinstance(choices[0], dict):
        del kept["anyOf"]
        return {**kept, **choices[0]}
    return {**kept, "anyOf": choices}
