"""`task` arguments → Command: the only validation of a payload (task-v1, 2)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool, StringConstraints, ValidationError

from ohm_subagents.contract.commands import Start, StartItem
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_core import ErrorDetails

OPS: Final = ("start",)
Text = Annotated[str, StringConstraints(strict=True, min_length=1)]
Words = Annotated[str, StringConstraints(strict=True, pattern=r"\S")]


class TaskFields(BaseModel):
    """One task to start."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    subagent_type: Text = Field(description="Id of the subagent profile, from the roster.")
    description: Words = Field(description="What the task is, in a few words, for people.")
    prompt: Words = Field(description="The whole task for the subagent; it sees nothing else.")
    asynchronous: StrictBool = Field(default=False, alias="async", description="Not allowed by default.")


class StartSingle(TaskFields):
    """`op: start` of one task."""

    op: str = Field(description="start")


class StartBatch(BaseModel):
    """`op: start` of several tasks; results come in input order."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    op: str = Field(description="start")
    tasks: tuple[TaskFields, ...] = Field(min_length=1, description="Tasks to start in one call.")
    parallel: StrictBool = Field(default=False, description="Run the tasks at the same time, within the limit.")
    asynchronous: StrictBool = Field(default=False, alias="async", description="Not allowed by default.")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskInput:
    """A payload understood: the command, whether a list was asked for, and the keys that mean nothing to us."""

    command: Start
    batch: bool
    ignored: tuple[str, ...] = ()


def parse(arguments: JsonValue) -> Result[TaskInput, OhmError]:
    """Understand a payload, or name the field that is wrong, its value, and what is allowed."""
    if not isinstance(arguments, dict):
        return Err(_invalid("", f"The payload must be a JSON object, not {_shown(arguments)}."))
    op = arguments.get("op")
    name = op.strip() if isinstance(op, str) else ""
    if name not in OPS:
        if name:
            return Err(_unsupported(name))
        return Err(_invalid("op", f"'op' is {_shown(op)}; allowed: {', '.join(OPS)}."))
    try:
        if isinstance(arguments.get("tasks"), list):
            batch = StartBatch.model_validate(arguments)
            return Ok(TaskInput(command=_batch(batch), batch=True, ignored=tuple(_ignored_of_batch(arguments))))
        single = StartSingle.model_validate(arguments)
    except ValidationError as invalid:
        return Err(_rejected(invalid))
    command = Start(items=(_item(single),), background=single.asynchronous)
    return Ok(TaskInput(command=command, batch=False, ignored=tuple(_unknown_keys(arguments, StartSingle))))


def _batch(batch: StartBatch) -> Start:
    return Start(
        items=tuple(_item(task) for task in batch.tasks),
        parallel=batch.parallel,
        background=batch.asynchronous or any(task.asynchronous for task in batch.tasks),
    )


def _item(task: TaskFields) -> StartItem:
    return StartItem(profile=task.subagent_type, description=task.description, prompt=task.prompt)


def _ignored_of_batch(arguments: dict[str, JsonValue]) -> Iterator[str]:
    yield from _unknown_keys(arguments, StartBatch)
    tasks = arguments["tasks"]
    for index, task in enumerate(tasks if isinstance(tasks, list) else ()):
        if isinstance(task, dict):
            yield from (f"tasks.{index}.{key}" for key in _unknown_keys(task, TaskFields))


def _unknown_keys(arguments: dict[str, JsonValue], model: type[BaseModel]) -> Iterator[str]:
    known = {field.alias or name for name, field in model.model_fields.items()}
    return (key for key in arguments if key not in known)


def _rejected(invalid: ValidationError) -> OhmError:
    first = invalid.errors(include_url=False)[0]
    path = ".".join(str(part) for part in first["loc"])
    return _invalid(path, f"'{path}' {_complaint(first)}")


def _complaint(error: ErrorDetails) -> str:
    if error["type"] == "missing":
        return "is missing; give a non-blank text."
    allowed = "true or false" if error["type"] == "bool_type" else "a non-blank text"
    if error["type"] == "too_short":
        allowed = "a list of at least one task"
    if error["type"].startswith("model"):
        allowed = "an object with subagent_type, description and prompt"
    return f"is {_shown(error['input'])}; allowed: {allowed}."


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:59]}…"


def _unsupported(op: str) -> OhmError:
    return OhmError(
        code=ErrorCode.OPERATION_NOT_SUPPORTED,
        message=f"Unsupported op '{op}'.",
        advice=f"Allowed: {', '.join(OPS)}.",
    )


def _invalid(path: str, advice: str) -> OhmError:
    at = f" at {path}" if path else ""
    summary = f"Task tool payload failed validation{at}"
    return OhmError(
        code=ErrorCode.INVALID_TASK_PAYLOAD,
        summary=summary,
        message=f"{summary} (path: {path})" if path else summary,
        advice=advice,
    )
