"""`task` arguments → Command: the only validation of a payload (task-v1, 2)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StringConstraints,
    ValidationError,
)
from pydantic_core import PydanticCustomError

from ohm_subagents.contract.commands import Cancel, Command, Look, Op, Send, Start, StartItem, Wait
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic_core import ErrorDetails

OPS: Final[tuple[Op, ...]] = get_args(Op)
ALIASES: Final = {"result": "status"}
"""Other names of an op, kept for callers of old."""


def _id_text(value: object) -> str:
    if isinstance(value, str) and value.strip():
        return value.strip()
    raise PydanticCustomError("not_text", "a non-blank text")


def _listed(value: object) -> object:
    """One id is a list of one."""
    return [value] if isinstance(value, str) else value


def _whole(value: object) -> int:
    """A whole number is one that is written `10` or `10.0`; nothing else is rounded or read as one."""
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(whole, int) and not isinstance(whole, bool) and whole >= 1:
        return whole
    raise PydanticCustomError("not_whole", "a whole number of milliseconds, 1 or more")


Text = Annotated[str, StringConstraints(strict=True, min_length=1)]
Words = Annotated[str, StringConstraints(strict=True, pattern=r"\S")]
TaskIdText = Annotated[Text, BeforeValidator(_id_text)]
TaskIds = Annotated[tuple[TaskIdText, ...], BeforeValidator(_listed), Field(min_length=1)]


class _Fields(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True)


class TaskFields(_Fields):
    """One task to start."""

    subagent_type: Text = Field(description="Id of the subagent profile, from the roster.")
    description: Words = Field(description="What the task is, in a few words, for people.")
    prompt: Words = Field(description="The whole task for the subagent; it sees nothing else.")
    asynchronous: StrictBool = Field(default=False, alias="async", description="Not allowed by default.")

    def item(self) -> StartItem:
        return StartItem(profile=self.subagent_type, description=self.description, prompt=self.prompt)


class StartBatch(_Fields):
    """Several tasks; results come in input order."""

    tasks: tuple[TaskFields, ...] = Field(min_length=1, description="Tasks to start in one call.")
    parallel: StrictBool = Field(default=False, description="Run the tasks at the same time, within the limit.")
    asynchronous: StrictBool = Field(default=False, alias="async", description="Not allowed by default.")

    def command(self) -> Start:
        return Start(
            items=tuple(task.item() for task in self.tasks),
            parallel=self.parallel,
            background=self.asynchronous or any(task.asynchronous for task in self.tasks),
        )


class StartSingle(TaskFields):
    """One task."""

    def command(self) -> Start:
        return Start(items=(self.item(),), background=self.asynchronous)


class StatusFields(_Fields):
    """Which tasks to look at."""

    ids: TaskIds = Field(description="Ids of tasks, for status and wait; `id` is short for one.")

    def command(self) -> Command:
        return Look(ids=self.ids)


class WaitFields(StatusFields):
    """Which tasks to wait for, and how long."""

    timeout_ms: Annotated[int, BeforeValidator(_whole)] | None = Field(
        default=None, description="How long to wait, in milliseconds; without it until all are settled."
    )

    def command(self) -> Command:
        return Wait(ids=self.ids, timeout_ms=self.timeout_ms)


class SendFields(_Fields):
    """A follow-up to a task."""

    id: TaskIdText = Field(description="Id of the task, for send and cancel.")
    prompt: Words = Field(description="The follow-up.")

    def command(self) -> Command:
        return Send(id=self.id, prompt=self.prompt)


class CancelFields(_Fields):
    """Which task to stop."""

    id: TaskIdText = Field(description="Id of the task, for send and cancel.")

    def command(self) -> Command:
        return Cancel(id=self.id)


Shape = type[StartBatch | StartSingle | StatusFields | WaitFields | SendFields | CancelFields]
SHAPES: Final[dict[str, Shape]] = {
    "start": StartSingle,
    "status": StatusFields,
    "wait": WaitFields,
    "send": SendFields,
    "cancel": CancelFields,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskInput:
    """A payload understood: the command, whether a list was asked for, and the keys that mean nothing to us."""

    command: Command
    batch: bool = False
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Misunderstood:
    """A payload refused; `op` is what the caller meant, as far as that is known."""

    error: OhmError
    op: Op = "start"


def parse(arguments: JsonValue) -> Result[TaskInput, Misunderstood]:
    """Understand a payload, or name the field that is wrong, its value, and what is allowed."""
    if not isinstance(arguments, dict):
        return Err(Misunderstood(error=_invalid("", f"The payload must be a JSON object, not {_shown(arguments)}.")))
    typed = arguments.get("op")
    name = typed.strip() if isinstance(typed, str) else ""
    op = _op(name)
    if name == "help":
        return Err(Misunderstood(error=_HELP, op="status"))
    if op is None:
        return Err(Misunderstood(error=_invalid("op", f"'op' is {_shown(typed)}; allowed: {', '.join(OPS)}.")))
    batch = op == "start" and isinstance(arguments.get("tasks"), list)
    shape = StartBatch if batch else SHAPES[op]
    fields = _with_ids(arguments) if op in {"status", "wait"} else arguments
    try:
        command = shape.model_validate(fields).command()
    except ValidationError as invalid:
        return Err(Misunderstood(error=_rejected(invalid), op=op))
    return Ok(TaskInput(command=command, batch=batch, ignored=tuple(_ignored(arguments, shape))))


def _op(name: str) -> Op | None:
    for op in OPS:
        if op == ALIASES.get(name, name):
            return op
    return None


def _with_ids(arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """`id` and `ids` say the same; `ids` counts when both are there and not empty."""
    ids = arguments.get("ids")
    return {**arguments, "ids": arguments["id"]} if "id" in arguments and ids in (None, [], "") else arguments


def _ignored(arguments: dict[str, JsonValue], shape: Shape) -> Iterator[str]:
    """Keys that this op does not know: named, never dropped in silence."""
    known = {"op", *_names(shape), *(("id",) if issubclass(shape, StatusFields) else ())}
    yield from (key for key in arguments if key not in known)
    tasks = arguments.get("tasks")
    for index, task in enumerate(tasks if isinstance(tasks, list) and shape is StartBatch else ()):
        if isinstance(task, dict):
            yield from (f"tasks.{index}.{key}" for key in task if key not in _names(TaskFields))


def _names(shape: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in shape.model_fields.items()}


def _rejected(invalid: ValidationError) -> OhmError:
    first = invalid.errors(include_url=False)[0]
    path = ".".join(str(part) for part in first["loc"])
    return _invalid(path, f"'{path}' {_complaint(first)}")


ALLOWED: Final = {
    "bool_type": "true or false",
    "too_short": "a list with at least one entry",
    "tuple_type": "a list",
    "model_type": "an object with subagent_type, description and prompt",
}


def _complaint(error: ErrorDetails) -> str:
    if error["type"] == "missing":
        return "is missing; it is required."
    custom = error["msg"] if error["type"] in {"not_text", "not_whole"} else "a non-blank text"
    return f"is {_shown(error['input'])}; allowed: {ALLOWED.get(error['type'], custom)}."


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:59]}…"


_HELP: Final = OhmError(
    code=ErrorCode.OPERATION_NOT_SUPPORTED,
    summary="Unsupported op 'help'. Use start, status, wait, send, or cancel.",
    message=f"Supported ops: {', '.join(OPS)}.",
    advice="The description of the tool says what each op takes.",
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


def schema() -> dict[str, Any]:
    """One flat object, as hosts expect of a tool: the fields of every op, only `op` required."""
    text = {"type": "string", "minLength": 1}
    start, batch, wait, send = (
        shape.model_json_schema()["properties"] for shape in (StartSingle, StartBatch, WaitFields, SendFields)
    )

    def described(fields: dict[str, Any], name: str, form: dict[str, Any]) -> dict[str, Any]:
        return {**form, "description": fields[name]["description"]}

    task = {name: described(start, name, text) for name in ("subagent_type", "description", "prompt")}
    flag = {"async": described(start, "async", {"type": "boolean"})}
    one = {"type": "object", "properties": task | flag, "required": [*task], "additionalProperties": False}
    properties = {
        "op": {**text, "description": ", ".join(OPS)},
        **task,
        **flag,
        "tasks": described(batch, "tasks", {"type": "array", "minItems": 1, "items": one}),
        "parallel": described(batch, "parallel", {"type": "boolean"}),
        "ids": described(wait, "ids", {"type": "array", "minItems": 1, "items": text}),
        "timeout_ms": described(wait, "timeout_ms", {"type": "integer", "minimum": 1}),
        "id": described(send, "id", text),
    }
    return {"type": "object", "properties": properties, "required": ["op"], "additionalProperties": False}
