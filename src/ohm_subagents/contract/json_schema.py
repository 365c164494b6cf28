"""JSON schemas that a user writes (2020-12)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    Schema = Mapping[str, JsonValue]


def misfit(value: JsonValue, schema: Schema) -> str | None:
    """What is wrong with a result that has to fit a schema, in one sentence."""
    from jsonschema import Draft202012Validator, ValidationError, validate  # noqa: PLC0415  slow, and seldom needed

    try:
        validate(value, {**schema}, cls=Draft202012Validator)
    except ValidationError as error:
        where = error.json_path.removeprefix("$")
        return f"'result{where}' does not fit: {error.message.rstrip('.')}."
    return None


def schema_fault(schema: Schema) -> str | None:
    """Why this is no JSON schema."""
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415  as above

    try:
        Draft202012Validator.check_schema({**schema})
    except SchemaError as error:
        return error.message.rstrip(".")
    return None
