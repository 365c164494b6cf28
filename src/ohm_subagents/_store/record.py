"""A task as text and back, without what its transcript holds. The only place that knows the format of a row."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, from_json

from ohm_subagents.contract.activity import Activity
from ohm_subagents.contract.errors import ErrorCode, OhmError, as_declared
from ohm_subagents.contract.events import Failed
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.task import Assignment, Task

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ohm_subagents.contract.events import Outcome
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.run import Run

FORMAT: Final = 1
"""Of rows and of checkpoints. A reader ignores fields that it does not know, so additions need no new number."""
LARGE: Final = 256 * 1024
"""An output longer than this is a file of its own."""

_ELSEWHERE: Final = {
    "events": True,
    "calls": True,
    "said": True,
    "is_speaking": True,
    "open_calls": True,
    "files": True,
    "checkpoint": True,
}
"""What the transcript and the table of checkpoints hold."""
_NESTED: Final = {"assignment": True, "activity": True}
"""The records of a task whose fields a row has beside the task's own."""


@cache
def tasks() -> TypeAdapter[Task]:
    """Made on first use: it takes longer than all of our imports."""
    return TypeAdapter(Task)


@cache
def _parts() -> tuple[TypeAdapter[Assignment], TypeAdapter[Activity]]:
    return TypeAdapter(Assignment), TypeAdapter(Activity)


Record = TypeVar("Record")


def encoded(adapter: TypeAdapter[Record], record: Record, *, exclude: Mapping[str, bool] | None = None) -> bytes:
    """As JSON; what is no Unicode, which a backend may let through, is replaced instead of losing the rest."""
    skipped = dict(exclude or {})
    try:
        return adapter.dump_json(record, exclude=skipped)
    except (PydanticSerializationError, UnicodeEncodeError):
        plain = adapter.dump_python(record, exclude=skipped)
        return json.dumps(plain, default=str, ensure_ascii=False).encode(errors="replace")


def written(task: Task) -> tuple[bytes, Mapping[int, str]]:
    """The row's text, and the outputs that are too large for it, by the number of their run (`all_runs`)."""
    runs = all_runs(task)
    large = {n: run.output for n, run in enumerate(runs) if run.output is not None and len(run.output) > LARGE}
    if large:
        task = _with_runs(task, tuple(replace(run, output=None) if n in large else run for n, run in enumerate(runs)))
    assignments, activities = _parts()
    parts = (
        encoded(tasks(), task, exclude=_NESTED),
        encoded(assignments, task.assignment),
        encoded(activities, task.activity, exclude=_ELSEWHERE),
    )
    return b"{%b}" % b",".join(part[1:-1] for part in parts), large


def read(task_id: TaskId, text: bytes, *, outputs: Mapping[int, str], checkpoint: str | None) -> Result[Task, OhmError]:
    """The task of a row, as `written` made it; what the transcript holds is empty."""
    try:
        row = from_json(text)
        task = tasks().validate_python({**row, "assignment": row, "activity": row})
    except (ValidationError, ValueError, TypeError) as exc:
        fault = exc.errors()[0]["msg"] if isinstance(exc, ValidationError) else str(exc)
        wrong = f"Task '{task_id}' cannot be read: {fault}"
        return Err(OhmError(code=ErrorCode.UNKNOWN_TASK_ID, message=wrong, advice="Another version wrote it."))
    runs = tuple(
        replace(run, output=outputs.get(n, run.output), outcome=_outcome(run.outcome))
        for n, run in enumerate(all_runs(task))
    )
    error = None if task.error is None else error_of(task.error)
    return Ok(replace(_with_runs(task, runs), activity=replace(task.activity, checkpoint=checkpoint), error=error))


def checksum(  # noqa: PLR0917  the columns of a row
    task_id: str, session_id: str, owner: int, status: str, ended_ms: int | None, record: bytes, large_outputs: str
) -> int:
    """Of what a row says, so that a reader knows whether it still says so."""
    columns = f"{task_id}\0{session_id}\0{owner}\0{status}\0{ended_ms}\0{large_outputs}"
    return zlib.crc32(record, zlib.crc32(columns.encode(errors="replace")))


def state_checksum(state: str) -> int:
    """Of a checkpoint."""
    return zlib.crc32(state.encode(errors="replace"))


def damaged(task_id: str, wrong: str, place: Path | None = None) -> OhmError:
    """What is said of a task whose row cannot be read, and is kept at `place`."""
    kept = "" if place is None else f" It was put aside: '{place}'."
    message = f"Task '{task_id}' cannot be read: its row is damaged, {wrong}.{kept}"
    return OhmError(code=ErrorCode.UNKNOWN_TASK_ID, message=message, advice="Start a new task.")


def all_runs(task: Task) -> tuple[Run, ...]:
    """Those of the tasks that it continues first."""
    return (*task.assignment.inherited, *task.runs)


def _with_runs(task: Task, runs: tuple[Run, ...]) -> Task:
    inherited = len(task.assignment.inherited)
    return replace(task, assignment=replace(task.assignment, inherited=runs[:inherited]), runs=runs[inherited:])


def _outcome(outcome: Outcome | None) -> Outcome | None:
    return Failed(error=error_of(outcome.error)) if isinstance(outcome, Failed) else outcome


def error_of(error: OhmError) -> OhmError:
    """With one of our codes as the member that knows its category."""
    return replace(error, code=as_declared(error.code))
