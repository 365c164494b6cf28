"""The references of a JSON schema that lead nowhere, as one that knows pointers only would follow them."""

from urllib.parse import unquote

TREE = {
    "$defs": {"leaf": {"type": "string", "minLength": 1}},
    "definitions": {"pair": {"type": "array", "items": {"$ref": "#"}, "maxItems": 2}},
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"$ref": "#/$defs/leaf"},
        "alias": {"$ref": "#/properties/name"},
        "pair": {"$ref": "#/definitions/pair"},
        "child": {"$ref": "#"},
    },
}
"""A schema with every kind of pointer."""


def references(schema):
    """All of them, in a schema without a property or a value that looks like one."""
    if isinstance(schema, dict):
        found = [schema["$ref"]] if "$ref" in schema else []
        return found + [each for value in schema.values() for each in references(value)]
    return [each for value in schema for each in references(value)] if isinstance(schema, list) else []


def target(schema, reference):
    """Return what a reference leads to; raises `LookupError` for one that leads nowhere."""
    assert reference.startswith("#"), reference
    for segment in unquote(reference[1:]).split("/")[1:]:
        schema = schema[segment.replace("~1", "/").replace("~0", "~")]
    return schema
