"""`task` arguments → Command: the only validation of a payload."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import ValidationError

from ohm_subagents._records import dataclass
from ohm_subagents._tools.arguments import explain_error, overridden_key, short_json, unknown_key
from ohm_subagents._tools.task.fields import (
    AnswerFields,
    CancelFields,
    DiscardFields,
    LandFields,
    SendFields,
    StartBatch,
    StartSingle,
    StatusFields,
    TaskFields,
    WaitFields,
)
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.restraints import REFUSED, is_restraint
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from pydantic import BaseModel, JsonValue

    from ohm_subagents.contract.commands import Command, Op


OPS: Final[tuple[Op, ...]] = ("start", "status", "wait", "send", "cancel")
"""The ops that there are always."""
ALL_OPS: Final[tuple[Op, ...]] = (*OPS, "answer")
"""The ops where a subagent may ask, without those about work that was kept apart."""
LAND_OPS: Final[tuple[Op, ...]] = ("land", "discard")
"""The ops about work that was kept apart, told only where there can be some."""
ALIASES: Final = {"result": "status"}
"""Other names of an op, which an earlier release of the contract had."""


Shape = type[
    StartBatch | StartSingle | StatusFields | WaitFields | SendFields | CancelFields | AnswerFields | LandFields
]
SHAPES: Final[dict[str, Shape]] = {
    "start": StartSingle,
    "status": StatusFields,
    "wait": WaitFields,
    "send": SendFields,
    "cancel": CancelFields,
    "answer": AnswerFields,
    "land": LandFields,
    "discard": DiscardFields,
}
_AS_OP: Final[dict[Shape, str]] = {shape: f"op {op}" for op, shape in SHAPES.items()} | {
    StartSingle: "a start of one task",
    StartBatch: "a start of several",
}


def told_ops(*, answers: bool, lands: bool) -> tuple[Op, ...]:
    """Return the ops that a model is told of."""
    return (*(ALL_OPS if answers else OPS), *(LAND_OPS if lands else ()))


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


def parse(
    arguments: JsonValue, *, models: Collection[str] = (), answers: bool = False
) -> Result[TaskInput, InvalidInput]:
    """Parse a payload, or name the field that is wrong, its value, and what is allowed.

    `models` are the names that `model` may have; without any, there is no such field. With `answers` there is
    the op `answer`.
    """
    if not isinstance(arguments, dict):
        return Err(InvalidInput(error=_invalid("", f"The payload must be a JSON object, not {short_json(arguments)}.")))
    hidden = _HIDDEN[bool(models), answers]
    ops = ALL_OPS if answers else OPS
    typed = arguments.get("op")
    name = typed.strip() if isinstance(typed, str) else ""
    op = _op(name, (*ops, *LAND_OPS))
    if op is None:
        is_answer = name == "answer"  # its fields are known, though nobody asks here
        unknown = tuple(unknown_key(key) for key in _said(arguments, known=ANY if is_answer else ANY - hidden))
        if name == "help":
            return Err(InvalidInput(error=_HELP, ignored=unknown))
        said = f"is {short_json(typed)}" if "op" in arguments else "is missing"
        meant = _NO_REQUESTS if is_answer else did_you_mean(name, (*ops, *LAND_OPS))
        refusal = _invalid("op", f"'op' {said}; allowed: {', '.join(ops)}. {meant}".rstrip())
        return Err(InvalidInput(error=refusal, ignored=unknown))
    batch = op == "start" and _asks_for_several(arguments)
    shape = StartBatch if batch else SHAPES[op]
    by_id = issubclass(shape, StatusFields) and _without_ids(arguments)
    restraint = _restraint(arguments, shape)
    if restraint is not None:
        return Err(InvalidInput(error=restraint, op=op))
    ignored = tuple(_ignored(arguments, shape, by_id=by_id, hidden=hidden))
    try:
        given = _with_ids(arguments) if by_id else arguments
        command = shape.model_validate(given, context={"models": models}).command()
    except ValidationError as invalid:
        return Err(InvalidInput(error=_rejected(invalid, arguments, op, by_id=by_id), op=op, ignored=ignored))
    return Ok(TaskInput(command=command, batch=batch, ignored=ignored))


def _op(name: str, ops: Iterable[Op]) -> Op | None:
    for op in ops:
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


def _ignored(arguments: dict[str, JsonValue], shape: Shape, *, by_id: bool, hidden: frozenset[str]) -> Iterator[str]:
    """Return the keys that count for nothing with this op, and those that are `hidden`: never dropped in silence."""
    ids = arguments.get("ids")
    repeated = isinstance(ids, list) and arguments.get("id") in ids
    known = _known(shape, hidden)
    for key in _said(arguments, known=known | {"id"} if by_id or repeated else known):
        if key not in ANY or key in hidden:
            yield unknown_key(key)
        elif (key == "id" and "ids" in known) or (key in _names(StartSingle) and shape is StartBatch):
            yield overridden_key(key, by="ids" if key == "id" else "tasks")
        else:
            yield f"Ignored '{key}': {_AS_OP[shape]} does not take it."
    tasks = arguments.get("tasks")
    for index, task in enumerate(tasks if isinstance(tasks, list) and shape is StartBatch else ()):
        if isinstance(task, dict):
            yield from (unknown_key(f"tasks.{index}.{key}") for key in _said(task, known=_names(TaskFields) - hidden))


def _restraint(arguments: dict[str, JsonValue], shape: Shape) -> OhmError | None:
    """Refuse an argument that restrains the subagent and counts for nothing with this op, if that runs one."""
    if (shape is StartSingle and arguments.keys() <= ANY) or shape not in {StartSingle, StartBatch, SendFields}:
        return None
    tasks = arguments.get("tasks") if shape is StartBatch else None
    places: list[tuple[str, JsonValue]] = [("", arguments)]
    places += [(f"tasks.{index}.", task) for index, task in enumerate(tasks if isinstance(tasks, list) else ())]
    for place, given in places:
        for key, value in given.items() if isinstance(given, dict) else ():
            if key not in (_names(TaskFields) if place else _known(shape, _NOT_HIDDEN)) and is_restraint(key, value):
                fact = f"'{place}{key}' is {short_json(value)}, which {_AS_OP[shape]} does not take. {REFUSED}"
                return _invalid(f"{place}{key}", fact)
    return None


def _said(arguments: dict[str, JsonValue], *, known: frozenset[str]) -> list[str]:
    """Return unknown keys; null for a key of another op is how some models leave it out."""
    return [key for key, value in arguments.items() if key not in known and not (value is None and key in ANY)]


@cache
def _names(shape: type[BaseModel]) -> frozenset[str]:
    return frozenset(field.alias or name for name, field in shape.model_fields.items())


@cache
def _known(shape: Shape, hidden: frozenset[str]) -> frozenset[str]:
    return (_names(shape) | _OP) - hidden


MODEL: Final = frozenset({"model"})
"""The field that there is only where a menu of models is configured."""
ANSWER: Final = _names(AnswerFields)
"""The fields that there are only where a subagent may ask."""
_HIDDEN: Final = {
    (False, False): MODEL | ANSWER,
    (False, True): MODEL,
    (True, False): ANSWER,
    (True, True): frozenset[str](),
}
"""The fields that there are not: by whether models are offered, and answers."""
ANY: Final = frozenset({"op"}).union(*(_names(shape) for shape in (StartBatch, *SHAPES.values())))
"""Every field of every op."""
_OP: Final = frozenset({"op"})
_NOT_HIDDEN: Final = frozenset[str]()
_SINGLE: Final = frozenset({"subagent_type", "description", "prompt"})


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


_NO_REQUESTS: Final = "No subagent here can ask, so there is no request to answer."
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
