"""The task.v1 envelope of a reply: the form that hosts and models read. A key that does not apply is absent."""

from __future__ import annotations

from typing import Generic, Literal

from pydantic import JsonValue, TypeAdapter
from typing_extensions import TypeVar

from ohm_subagents.contract.acceptance import Verified
from ohm_subagents.contract.commands import Op
from ohm_subagents.contract.envelope_parts import (
    ModelUse,
    Record,
    RemainingBlock,
    RequestBlock,
    UsageBlock,
    WorkspaceBlock,
)
from ohm_subagents.contract.errors import Category
from ohm_subagents.contract.events import Guard
from ohm_subagents.contract.replies import WaitStatus
from ohm_subagents.contract.task import Invocation, Status
from ohm_subagents.contract.verification import VerificationBlock

DataT = TypeVar("DataT", default=JsonValue)
"""The type of an answer."""
BatchStatus = Literal["accepted", "partial", "completed", "rejected"]

ADDITIONS = frozenset(
    {
        "usage",
        "remaining",
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
        "models_used",
        "requests",
        "launch_digest",
        "served_model",
        "workspace",
        "verified",
        "verification",
    }
)
"""The keys that we add to task.v1; none of them changes a documented one."""


class _Failure(Record):
    error_code: str | None = None
    """The code; absent for a success."""
    error_category: Category | None = None
    """The kind of the failure."""
    error_message: str | None = None
    """The fact, in one sentence."""
    error_advice: str | None = None
    """The values that are allowed, and the way out."""


class _Assigned(_Failure):
    """The work that was given."""

    subagent_type: str | None = None
    """The id of the profile."""
    prompt: str | None = None
    """The first prompt."""
    description: str | None = None
    """The title of the task."""
    invocation: Invocation | None = None
    """The kind of tool that started it."""


class _Answered(_Assigned):
    """The answer, as far as there is one."""

    output_available: bool | None = None
    """True if there is an answer."""
    output: str | None = None
    """The answer, truncated to `outputMaxChars` code points."""
    output_truncated: bool | None = None
    """True if the answer was truncated."""
    output_total_chars: int | None = None
    """Code points of the whole answer."""
    output_returned_chars: int | None = None
    """Code points of `output`."""


class _Launched(_Answered):
    """The session, and the way in which the task was asked for."""

    session_id: str | None = None
    """The session that `resumes` takes."""
    resumed_from: str | None = None
    """The task of the same session that it continues."""
    launch_digest: str | None = None
    """The SHA-256 of the launch record: tasks with equal digests were asked for in the same way."""
    served_model: str | None = None
    """The model that answered, as the provider says it, where that is another name than the one asked for."""


class _Verified(_Launched):
    """The verdict of the checks of the outcome."""

    verified: Verified | None = None
    """The verdict; absent without checks, and while it is not known."""
    verification: VerificationBlock | None = None
    """The evidence; there where `verified` is."""


class _Work(_Verified):
    """The facts about one task, in a single result and in an item alike."""

    tool_rows: list[str] | None = None
    """One line a tool event, oldest first."""
    event_count: int | None = None
    """The number of events that are kept."""
    assistant_text: str | None = None
    """The text of the assistant, truncated to `outputMaxChars` code points."""
    usage: UsageBlock | None = None
    """Its consumption; absent while it consumed nothing."""
    remaining: RemainingBlock | None = None
    """The rest of its budgets; absent where nothing limits it."""
    duration_ms: int | None = None
    """Milliseconds from the first run to the newest event."""
    files: list[str] | None = None
    """The files written, in order of their first change."""
    workspace: WorkspaceBlock | None = None
    """The changes that it made in a workspace of its own; absent without one, or without any."""
    stopped_by: Guard | None = None
    """The guard that ended the run."""
    last_progress_at_epoch_ms: int | None = None
    """The backend's newest report before a failure or a cancel, in epoch milliseconds."""
    queue_position: int | None = None
    """Its place in the queue, 1 for the next to run."""
    activity: str | None = None
    """One line: the newest step of a task that runs."""
    requests: list[RequestBlock] | None = None
    """The requests of its subagent that wait for an answer; absent without any."""
    models_used: list[ModelUse] | None = None
    """The models that were chosen, oldest first; absent where nothing was to choose."""
    diagnostics: list[str] | None = None
    """Notes about what was not honoured as written."""


class _Head(Record):
    contract_version: Literal["task.v1"] = "task.v1"
    """The version of this form."""
    op: Op
    """The operation of the call."""
    status: Status
    """The status of the task, or of all items together."""
    summary: str
    """One line for people."""
    backend: str
    """The label of the backend."""
    provider: str
    """The id of the model's provider; `mixed` if items differ."""
    model: str
    """The id of the model; `mixed` if items differ."""
    runtime: str
    """The backend that really runs the task; `mixed` if items differ."""
    route: str
    """The way that was taken to it; `mixed` if items differ."""


class Envelope(_Work, _Head, Generic[DataT]):
    """One task, or a call that was refused; the shape of `start` and `send`.

    `data` is the answer as the `result_type` of the call, or as JSON where the profile has a `result_schema`; only a
    program gets it, never a model.
    """

    task_id: str | None = None
    """The id of the task; absent if none was started."""
    data: DataT | None = None
    """The answer as JSON."""


class CancelEnvelope(Envelope):
    """One task that was asked to stop; `cancel_applied` is False when it was settled before."""

    op: Op = "cancel"
    """The operation of the call."""
    cancel_applied: bool
    """False if the task was settled before."""
    prior_status: Status
    """The status before the cancel."""


class Item(_Work):
    """One task of several; a refused or unknown one has no status and no backend."""

    id: str
    """The id of the task, or of the item that was refused."""
    found: bool
    """False for an item that is no task."""
    status: Status | None = None
    """The status of the task."""
    summary: str
    """One line for people."""
    backend: str | None = None
    """The label of its backend."""
    provider: str
    """The id of the model's provider."""
    model: str
    """The id of the model."""
    runtime: str
    """The backend that really runs the task."""
    route: str
    """The way that was taken to it."""
    updated_at_epoch_ms: int | None = None
    """The newest event, in epoch milliseconds."""
    ended_at_epoch_ms: int | None = None
    """The time at which it settled, in epoch milliseconds."""


class _Several(_Failure, _Head):
    items: list[Item]
    """The items, in the order asked for."""
    diagnostics: list[str] | None = None
    """Notes about the arguments of the call."""


class BatchEnvelope(_Several):
    """The result of a batch: its items in input order, and how they add up."""

    op: Op = "start"
    """The operation of the call."""
    total_count: int
    """The number of items."""
    accepted_count: int
    """Items that became tasks."""
    rejected_count: int
    """Items that were refused."""
    batch_status: BatchStatus
    """`completed`: all succeeded; `partial`: not all; `accepted`: some still run; `rejected`: none started."""


class StatusEnvelope(_Several):
    """The newest state of tasks, in the order asked for."""

    op: Op = "status"
    """The operation of the call."""
    timed_out: bool = False
    """Always false."""


class WaitEnvelope(_Several):
    """Tasks that a call waited for; a progress frame has neither `wait_status` nor `timed_out`."""

    op: Op = "wait"
    """The operation of the call."""
    done: bool
    """True once every task is settled or unknown."""
    wait_status: WaitStatus | None = None
    """The end of the wait."""
    timed_out: bool | None = None
    """True if the wait took too long."""


AnyEnvelope = Envelope | CancelEnvelope | BatchEnvelope | StatusEnvelope | WaitEnvelope


def envelope_schema() -> dict[str, JsonValue]:
    """Return the JSON Schema of all envelopes as they are written: a key that does not apply is absent, never null."""
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
