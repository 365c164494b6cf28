"""Arguments of the four tools → data: the only validation of a payload."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Self, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from ohm_subagents.contract.restraints import REFUSED as RESTRAINT_REFUSED
from ohm_subagents.contract.restraints import is_restraint
from ohm_subagents.contract.spelling import nearest_name
from ohm_subagents.suite import Err, Ok, Result, explain_error, short_json, whole_number
from ohm_subagents.suites.delegate.attachments import Attachment

if TYPE_CHECKING:
    from pydantic import JsonValue
    from pydantic_core import ErrorDetails

    from ohm_subagents.suite import JsonObject

MAX_TASKS: Final = 16
_OWN: Final = frozenset({"cwd"})
"""The restraint that a task takes."""
DEFAULT_TIMEOUT_S: Final = 600
MAX_TIMEOUT_S: Final = 10**9


def _seconds(value: object) -> float:
    if value is None:
        return DEFAULT_TIMEOUT_S
    if isinstance(value, int | float) and not isinstance(value, bool):
        if 1 <= value <= MAX_TIMEOUT_S:
            return value
        if value > MAX_TIMEOUT_S:
            raise PydanticCustomError("not_seconds", "a number of seconds, 1 or more, at most 1000000000")
    raise PydanticCustomError("not_seconds", "a number of seconds, 1 or more")


def _count(value: object) -> object:
    """So many lines, of which there is one at least."""
    number = whole_number(value)
    if isinstance(number, int) and number < 1:
        raise PydanticCustomError("not_count", "a whole number, 1 or more")
    return number


def _file(value: object) -> object:
    return {"path": value} if isinstance(value, str) else value


FieldsT = TypeVar("FieldsT", bound=BaseModel)
Text = Annotated[str, StringConstraints(strict=True)]
Whole = Annotated[int | None, BeforeValidator(whole_number)]
Count = Annotated[int | None, BeforeValidator(_count)]


class _Fields(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True, alias_generator=to_camel, validate_by_name=True)


class FileFields(_Fields):
    """A file, or lines of it: a range, the head or the tail."""

    model_config = ConfigDict(extra="forbid")

    path: Text
    start: Whole = None
    end: Whole = None
    head: Count = None
    tail: Count = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        ways = [self.start is not None or self.end is not None, self.head is not None, self.tail is not None]
        if sum(ways) > 1:
            raise PydanticCustomError("not_one_way", "start and end, or head, or tail")
        return self

    def attachment(self) -> Attachment:
        """Return the file as `preface` reads it."""
        return Attachment(path=self.path, start=self.start, end=self.end, head=self.head, tail=self.tail)


class DelegateTaskFields(_Fields):
    """One sub-agent to start. `timeout` is in seconds."""

    model_config = ConfigDict(extra="allow")

    name: Text
    prompt: Text
    cwd: Text | None = None
    profile: Text | None = None
    timeout: Annotated[float, BeforeValidator(_seconds)] = DEFAULT_TIMEOUT_S
    resume: Text | None = None
    files: tuple[Annotated[FileFields, BeforeValidator(_file)], ...] | None = None

    @property
    def ignored(self) -> tuple[str, ...]:
        """Return the keys that mean nothing to us: a misspelt key starts something else than was asked for."""
        return tuple(f"Ignored unknown key '{key}'." for key in self.model_extra or ())

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """The files that precede the prompt."""
        return tuple(file.attachment() for file in self.files or ())


class DelegateFields(_Fields):
    """A call of `delegate_to_subagents`."""

    tasks: tuple[DelegateTaskFields, ...] = Field(min_length=1, max_length=MAX_TASKS)
    profile: Text | None = None


class SessionFields(_Fields):
    """The session to read."""

    session_id: Text


def parse_delegation(arguments: JsonValue) -> Result[DelegateFields, str]:
    """Understand a delegation, or say in one sentence which field is wrong and what is allowed."""
    restraint = _restraint(arguments)
    return _parsed(DelegateFields, arguments) if restraint is None else Err(restraint)


def _restraint(arguments: JsonValue) -> str | None:
    """Return why an argument that restrains the sub-agents is refused: one that counts for nothing here."""
    whole = arguments if isinstance(arguments, dict) else {}
    tasks = whole.get("tasks")
    places: list[tuple[str, JsonValue, frozenset[str]]] = [("", whole, frozenset())]
    places += [(f"tasks.{index}.", task, _OWN) for index, task in enumerate(tasks if isinstance(tasks, list) else ())]
    for place, given, known in places:
        for key, value in given.items() if isinstance(given, dict) else ():
            if key not in known and is_restraint(key, value):
                return f"'{place}{key}' is {short_json(value)}, which is no argument here. {RESTRAINT_REFUSED}"
    return None


def parse_session(arguments: JsonValue) -> Result[SessionFields, str]:
    """Understand a retrieval, or say in one sentence what is wrong."""
    return _parsed(SessionFields, arguments)


def _parsed(shape: type[FieldsT], arguments: JsonValue) -> Result[FieldsT, str]:
    if not isinstance(arguments, dict):
        return Err(f"The arguments must be a JSON object, not {short_json(arguments)}.")
    try:
        return Ok(shape.model_validate(arguments))
    except ValidationError as invalid:
        first = invalid.errors(include_url=False)[0]
        path = ".".join(str(part) for part in first["loc"])
        return Err(f"'{path}' {explain_error(first, allowed=_ALLOWED)}{_misspelt(first)}")


def _misspelt(error: ErrorDetails) -> str:
    """Return a sentence about the key that was perhaps meant to be the missing one; empty if there is none."""
    if error["type"] != "missing" or not isinstance(error["input"], dict):
        return ""
    missing, given = str(error["loc"][-1]), cast("JsonObject", error["input"])
    near = nearest_name(missing, given)
    return "" if near is None else f" Did you mean '{missing}' by '{near}'?"


_ALLOWED: Final = {
    "tuple_type": "a list",
    "too_short": f"a list of 1 to {MAX_TASKS} tasks",
    "too_long": f"a list of 1 to {MAX_TASKS} tasks",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "string_type": "a text",
    "extra_forbidden": "the keys path, start, end, head and tail",
}


def _object(properties: JsonObject, *required: str) -> JsonObject:
    return {"type": "object", "properties": properties, "required": [*required]}


def _closed(properties: JsonObject) -> JsonObject:
    return {**_object({"path": _PATH, **properties}, "path"), "additionalProperties": False}


def _text(description: str) -> JsonObject:
    return {"type": "string", "description": description}


def _line(description: str) -> JsonObject:
    return {"type": "integer", "minimum": 1, "description": description}


_PATH: Final = _text("Path of the file, absolute or relative to the task's cwd.")
_FILE: Final[JsonObject] = {
    "description": "A path, or an object with a path and start/end, head or tail.",
    "anyOf": [
        _text("Path of the file."),
        _closed(
            {
                "start": {"type": "integer", "description": "First line, from 1; default: the first of the file."},
                "end": {"type": "integer", "description": "Last line, included; default: the last of the file."},
            }
        ),
        _closed({"head": _line("So many lines from the beginning.")}),
        _closed({"tail": _line("So many lines from the end.")}),
    ],
}
_TASK: Final = _object(
    {
        "name": _text("Display name of the sub-agent."),
        "prompt": _text("The task. The sub-agent sees nothing else of this conversation."),
        "cwd": _text("Working directory: an absolute path without '..' segments."),
        "profile": _text("Named sub-agent profile for this task, in place of the top-level one."),
        "timeout": {
            "type": "number",
            "minimum": 1,
            "default": DEFAULT_TIMEOUT_S,
            "description": "Timeout in seconds.",
        },
        "resume": _text("Session ID of earlier work to continue; its transcript is given to the sub-agent."),
        "files": {"type": "array", "items": _FILE, "description": "Files whose contents stand before the prompt."},
    },
    "name",
    "prompt",
)
DELEGATE_SCHEMA: Final = _object(
    {
        "tasks": {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_TASKS,
            "items": _TASK,
            "description": "Tasks to work on in parallel.",
        },
        "profile": _text("Default profile of all tasks."),
    },
    "tasks",
)
SESSION_SCHEMA: Final = _object(
    {"sessionId": _text("The session ID that delegate_to_subagents returned.")}, "sessionId"
)
EMPTY_SCHEMA: Final = _object({})
