"""Arguments of the three tools → a change: the only validation of their shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError

from ohm_subagents.suite import Err, Ok, Result, encodable, explain_error, short_json, whole_number
from ohm_subagents.suites.todos.todo_list import MAX_INDICES, MAX_TEXT, MAX_TODOS, Edit, Refusal, Write

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ohm_subagents.suite import JsonObject

FieldsT = TypeVar("FieldsT", bound=BaseModel)
MAX_INDEX: Final = 2**53 - 1
"""The largest whole number that every reader of JSON understands."""
Text = Annotated[str, StringConstraints(strict=True), AfterValidator(encodable)]
Whole = Annotated[int, BeforeValidator(whole_number), Field(ge=-MAX_INDEX, le=MAX_INDEX)]


class _Fields(BaseModel):
    model_config = ConfigDict(defer_build=True, frozen=True)


class TodoFields(_Fields):
    """A new item."""

    text: Text


class WriteFields(_Fields):
    """A call of `write_todos`; the list itself limits numbers and lengths."""

    mode: Text
    todos: tuple[TodoFields, ...]
    index: Whole | None = None


class EditFields(_Fields):
    """A call of `edit_todos`."""

    action: Text
    indices: tuple[Whole, ...] | None = None


def parse_write(arguments: JsonValue) -> Result[Write, Refusal]:
    """Read the arguments of `write_todos`, or say which field is wrong and what is allowed."""
    match _parsed(WriteFields, arguments):
        case Ok(asked):
            return Ok(Write(mode=asked.mode, texts=tuple(todo.text for todo in asked.todos), index=asked.index))
        case Err() as wrong:
            return wrong


def parse_edit(arguments: JsonValue) -> Result[Edit, Refusal]:
    """Read the arguments of `edit_todos`, or say which field is wrong and what is allowed."""
    match _parsed(EditFields, arguments):
        case Ok(asked):
            return Ok(Edit(action=asked.action, indices=asked.indices or ()))
        case Err() as wrong:
            return wrong


def _parsed(shape: type[FieldsT], arguments: JsonValue) -> Result[FieldsT, Refusal]:
    if not isinstance(arguments, dict):
        return Err(Refusal.of(f"The arguments must be a JSON object, not {short_json(arguments)}."))
    try:
        return Ok(shape.model_validate(arguments))
    except ValidationError as invalid:
        first = invalid.errors(include_url=False)[0]
        path = ".".join(str(part) for part in first["loc"])
        return Err(Refusal.of(f"'{path}' {explain_error(first, allowed=_ALLOWED)}"))


_ALLOWED: Final = {
    "tuple_type": "a list",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "int_type": "a whole number",
    "greater_than_equal": f"a whole number, {-MAX_INDEX} or more",
    "less_than_equal": f"a whole number, {MAX_INDEX} or less",
}


WRITE_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "mode": {
            "type": "string",
            "enum": ["replace", "append", "insert"],
            "description": "Mode: 'replace' clears and replaces the entire list, 'append' adds to the end, 'insert' "
            "inserts at a specific index",
        },
        "index": {
            "type": "integer",
            "description": "0-based index to insert at (required for 'insert' mode)",
        },
        "todos": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string", "description": "Description of the task", "maxLength": MAX_TEXT}
                },
                "required": ["text"],
            },
            "description": "Ordered list of todo items",
            "maxItems": MAX_TODOS,
        },
    },
    "required": ["mode", "todos"],
}
LIST_SCHEMA: Final[JsonObject] = {"type": "object", "properties": {}}
EDIT_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "action": {
            "type": "string",
            "enum": ["start", "complete", "abandon"],
            "description": "Action to apply to the todo items",
        },
        "indices": {
            "type": "array",
            "items": {"type": "integer"},
            "description": "0-based indices to apply the action to",
            "minItems": 1,
            "maxItems": MAX_INDICES,
        },
    },
    "required": ["action", "indices"],
}
