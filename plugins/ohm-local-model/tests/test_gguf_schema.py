from __future__ import annotations

import pytest
from pydantic import BaseModel, JsonValue

from ohm_local_model.schema import MAX_ITEMS, MAX_NUMBER, MAX_STRING, SMALLEST_STEP, bounded

TEXT: dict[str, JsonValue] = {"type": "string", "maxLength": MAX_STRING}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, TEXT),
        ({"type": "string", "maxLength": 5}, {"type": "string", "maxLength": 5}),
        ({"type": "string", "maxLength": 10**9}, TEXT),
        ({"type": ["string", "null"]}, {"type": ["string", "null"], "maxLength": MAX_STRING}),
        ({"type": "string", "enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
        ({"type": "string", "const": "a"}, {"type": "string", "const": "a"}),
        ({"type": "string", "pattern": "^a+$"}, {**TEXT, "pattern": "^a+$"}),
        ({"type": "string", "pattern": "(?<=a)b"}, TEXT),
        ({"type": "boolean"}, {"type": "boolean"}),
        ({"type": "integer"}, {"type": "integer", "minimum": -MAX_NUMBER, "maximum": MAX_NUMBER}),
        (
            {"type": "integer", "exclusiveMinimum": 0, "maximum": 9},
            {"type": "integer", "exclusiveMinimum": 0, "maximum": 9},
        ),
        ({"type": "number"}, {"type": "number", "multipleOf": SMALLEST_STEP}),
        ({"type": "array", "items": {"type": "string"}}, {"type": "array", "items": TEXT, "maxItems": MAX_ITEMS}),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            {"anyOf": [TEXT, {"type": "null"}]},
        ),
        ({"type": "object"}, {"type": "object", "additionalProperties": False}),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            {"type": "object", "additionalProperties": TEXT},
        ),
        ({"type": "object", "$ref": "#/$defs/A"}, {"type": "object", "$ref": "#/$defs/A"}),
        (
            {"type": "object", "properties": {"type": {"type": "string"}}},
            {"type": "object", "properties": {"type": TEXT}, "additionalProperties": False},
        ),
        ({"$defs": {"A": {"type": "string"}}}, {"$defs": {"A": TEXT}}),
        ({}, {}),
        ({"items": True}, {"items": True}),
    ],
)
def test_everything_that_could_go_on_for_ever_gets_an_end(
    schema: dict[str, JsonValue], expected: dict[str, JsonValue]
) -> None:
    assert bounded(schema) == expected


def test_the_given_schema_stays_as_it_was() -> None:
    schema: dict[str, JsonValue] = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert bounded(schema) != schema
    assert schema == {"type": "object", "properties": {"a": {"type": "string"}}}


def test_bounding_twice_changes_nothing() -> None:
    class Leaf(BaseModel):
        text: str
        numbers: list[float]

    class Tree(BaseModel):
        leaves: dict[str, Leaf]
        parent: Tree | None = None

    once = bounded(Tree.model_json_schema())
    assert bounded(once) == once
