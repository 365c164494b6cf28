"""`task` arguments → Command: the only validation of a payload."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, get_args

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

from ohm_subagents._tools.arguments import explain_error, overridden_key, short_json, unknown_key
from ohm_subagents.contract.commands import Cancel, Command, GetTasks, Op, Send, Start, StartItem, Wait
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator


OPS: Final[tuple[Op, ...]] = get_args(Op)
ALIASES: Final = {"result": "status"}
"""Other names of an op, kept for callers of old."""


def _id_text(value: object) -> str:
    if isinstance(value, str) and value.strip():
        return value.strip()
    raise PydanticCustomError("not_text", "a non-blank text")


def _listed(value: object) -> object:
    """Read one id as a list of one."""
    return [value] if isinstance(value, str) else value


def _whole(value: object) -> int:
    """Read a whole number, written `10` or `10.0`; nothing else is rounded or read as one."""
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(whole, int) and not isinstance(whole, bool) and whole >= 1:
        return whole
    raise PydanticCustomError("not_whole", "a whole number of milliseconds, 1 or more")


def _flag(value: object) -> object:
    """Read a flag; null is the default."""
    return False if value is None else value


Flag = Annotated[StrictBool, BeforeValidator(_flag)]
Text = Annotated[str, StringConstraints(strict=True, min_length=1)]
Words = Annotated[str, StringConstraints(strict=True, pattern=r"\S")]
TaskIdText = Annotated[Text, BeforeValidator(_id_text)]
TaskIds = Annotated[tuple[TaskIdText, ...], BeforeValidator(_listed), Field(min_length=1)]


class _Fields(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, populate_by_name=True)


class TaskFields(_Fields):
    """One task to start."""

    subagent_type: Text = Field(description="Id of the subagent profile, from the roster.")
    description: Words = Field(description="What the task is, in a few words, for people.")
    prompt: Words = Field(description="The whole task for the subagent; it sees nothing else.")
    asynchronous: Flag = Field(default=False, alias="async", description="Not allowed by default.")

    def item(self) -> StartItem:
        return StartItem(profile=self.subagent_type, description=self.description, prompt=self.prompt)


class StartBatch(_Fields):
    """Several tasks; results come in input order."""

    tasks: tuple[TaskFields, ...] = Field(min_length=1, description="Tasks to start in one call.")
    parallel: Flag = Field(default=False, description="Run the tasks at the same time, within the limit.")
    asynchronous: Flag = Field(default=False, alias="async", description="Not allowed by default.")

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
    """The tasks to look at."""

    ids: TaskIds = Field(description="Ids of tasks, for status and wait; `id` is short for one.")

    def command(self) -> Command:
        return GetTasks(ids=self.ids)


class WaitFields(StatusFields):
    """The tasks to wait for, and how long."""

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
    """The task to stop."""

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
_AS_OP: Final[dict[Shape, str]] = {shape: f"op {op}" for op, shape in SHAPES.items()} | {
    StartSingle: "a start of one task",
    StartBatch: "a start of several",
}


class TaskInput(NamedTuple):
    """A valid payload: its command, if a list was asked for, and notes on the keys that are ignored."""

    command: Command
    batch: bool = False
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidInput:
    """An invalid payload: its error, the op as far as it is known, and notes on the keys that are ignored."""

    error: OhmError
    op: Op = "start"
    ignored: tuple[str, ...] = ()


def parse(arguments: JsonValue) -> Result[TaskInput, InvalidInput]:
    """Parse a payload, or name the field that is wrong, its value, and what is allowed."""
    if not isinstance(arguments, dict):
        return Err(InvalidInput(error=_invalid("", f"The payload must be a JSON object, not {short_json(arguments)}.")))
    typed = arguments.get("op")
    name = typed.strip() if isinstance(typed, str) else ""
    op = _op(name)
    if op is None:
        unknown = tuple(unknown_key(key) for key in _said(arguments, known=_ANY))
        if name == "help":
            return Err(InvalidInput(error=_HELP, ignored=unknown))
        said = f"is {short_json(typed)}" if "op" in arguments else "is missing"
        meant = did_you_mean(name, OPS)
        refusal = _invalid("op", f"'op' {said}; allowed: {', '.join(OPS)}. {meant}".rstrip())
        return Err(InvalidInput(error=refusal, ignored=unknown))
    batch = op == "start" and _asks_for_several(arguments)
    shape = StartBatch if batch else SHAPES[op]
    by_id = issubclass(shape, StatusFields) and _without_ids(arguments)
    ignored = tuple(_ignored(arguments, shape, by_id=by_id))
    try:
        command = shape.model_validate(_with_ids(arguments) if by_id else arguments).command()
    except ValidationError as invalid:
        return Err(InvalidInput(error=_rejected(invalid, arguments, op, by_id=by_id), op=op, ignored=ignored))
    return Ok(TaskInput(command=command, batch=batch, ignored=ignored))


def _op(name: str) -> Op | None:
    for op in OPS:
        if op == ALIASES.get(name, name):
            return op
    return None


def _asks_for_several(arguments: dict[str, JsonValue]) -> bool:
    """Return True if `tasks` counts: always, but where it is no list and a whole single task is beside it."""
    tasks = arguments.get("tasks")
    return isinstance(tasks, list) or (tasks is not None and not arguments.keys() >= _SINGLE)


def _without_ids(arguments: dict[str, JsonValue]) -> bool:
    """Return True if `id` counts, because `ids` is missing or empty."""
    return arguments.get("id") is not None and arguments.get("ids") in (None, [], "")


def _with_ids(arguments: dict[str, JsonValue]) -> dict[str, JsonValue]:
    one = arguments["id"]
    return {**arguments, "ids": one if isinstance(one, list) else [one]}


def _ignored(arguments: dict[str, JsonValue], shape: Shape, *, by_id: bool) -> Iterator[str]:
    """Return the keys that count for nothing with this op: reported, never dropped in silence."""
    ids = arguments.get("ids")
    repeated = isinstance(ids, list) and arguments.get("id") in ids
    known = _known(shape)
    for key in _said(arguments, known=known | {"id"} if by_id or repeated else known):
        if key not in _ANY:
            yield unknown_key(key)
        elif (key == "id" and "ids" in known) or (key in _names(StartSingle) and shape is StartBatch):
            yield overridden_key(key, by="ids" if key == "id" else "tasks")
        else:
            yield f"Ignored '{key}': {_AS_OP[shape]} does not take it."
    tasks = arguments.get("tasks")
    for index, task in enumerate(tasks if isinstance(tasks, list) and shape is StartBatch else ()):
        if isinstance(task, dict):
            yield from (unknown_key(f"tasks.{index}.{key}") for key in _said(task, known=_names(TaskFields)))


def _said(arguments: dict[str, JsonValue], *, known: frozenset[str]) -> list[str]:
    """Return unknown keys; null for a key of another op is how some models leave it out."""
    return [key for key, value in arguments.items() if key not in known and not (value is None and key in _ANY)]


@cache
def _names(shape: type[BaseModel]) -> frozenset[str]:
    return frozenset(field.alias or name for name, field in shape.model_fields.items())


@cache
def _known(shape: Shape) -> frozenset[str]:
    return _names(shape) | _OP


KEYS: Final = frozenset[str]().union(*(_names(shape) for shape in (StartBatch, *SHAPES.values())))
"""Every field of every op."""
_OP: Final = frozenset({"op"})
_SINGLE: Final = frozenset({"subagent_type", "description", "prompt"})
_ANY: Final = KEYS | _OP


def _rejected(invalid: ValidationError, arguments: dict[str, JsonValue], op: Op, *, by_id: bool) -> OhmError:
    first = invalid.errors(include_url=False)[0]
    loc = first["loc"]
    if by_id and loc[0] == "ids":
        loc = ("id", *(loc[1:] if isinstance(arguments["id"], list) else ()))
    path = ".".join(str(part) for part in loc)
    hint = ""
    if first["type"] == "missing" and path == "ids":
        hint = " Give one task as 'id', or several as 'ids'."
    elif first["type"] == "missing" and path == "id" and arguments.get("ids") is not None:
        hint = f" {op} takes one 'id', not 'ids'."
    said = explain_error(first, allowed=ALLOWED, otherwise="a non-blank text")
    return _invalid(path, f"'{path}' {said}{hint}")


ALLOWED: Final = {
    "bool_type": "true or false",
    "too_short": "a list with at least one entry",
    "tuple_type": "a list",
    "model_type": "an object with subagent_type, description and prompt",
}


_HELP: Final = OhmError(
    code=ErrorCode.OPERATION_NOT_SUPPORTED,
    summary="Unsupported op 'help'. Use start, status, wait, send, or cancel.",
    message=f"Supported ops: {', '.join(OPS)}.",
    advice="The description of the tool says what each op takes.",
)


def _invalid(path: str, reason: str) -> OhmError:
    at, where = (f" at {path}", f" (path: {path})") if path else ("", "")
    summary = f"Task tool payload failed validation{at}"
    return OhmError(code=ErrorCode.INVALID_TASK_PAYLOAD, summary=summary, message=f"{summary}{where}: {reason}")
