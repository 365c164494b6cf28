"""JSON schemas that a user writes (2020-12), and values that a model writes. Nothing is ever fetched for them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.text import encodable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    Schema = Mapping[str, JsonValue]
    Node = dict[str, Any]

_REFERENCES: Final = ("$ref", "$dynamicRef")
_DEFINITIONS: Final = ("$defs", "definitions")
_TOO_DEEP: Final = "nested too deep"


def writable(value: JsonValue) -> Result[JsonValue, str]:
    """Return a copy that JSON text can hold and any encoding can write, or the reason why there is none."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        copy: JsonValue = json.loads(encodable(text))
    except (TypeError, ValueError) as error:
        return Err(f"it cannot be written as JSON: {error}")
    except RecursionError:
        return Err(f"it is {_TOO_DEEP}")
    return Ok(copy)


def schema_fault(schema: object) -> str | None:
    """Return why this is no usable JSON schema, or None: every reference has to lead to a part of it."""
    from jsonschema import Draft202012Validator, SchemaError  # noqa: PLC0415  slow, and seldom needed

    if not isinstance(schema, Mapping):
        return f"it is a {type(schema).__name__}, and has to be a dict"
    copied = writable({**cast("Schema", schema)})
    if isinstance(copied, Err):
        return copied.err_value
    copy = cast("Node", copied.ok_value)
    try:
        Draft202012Validator.check_schema(copy)
        return _stray(copy)
    except SchemaError as error:
        return error.message.rstrip(".")
    except RecursionError:
        return f"it is {_TOO_DEEP}"


def placed(schema: Schema, pointer: str) -> tuple[Node, Node]:
    """Return the schema for a place in another, such as `/properties/x`, and the definitions for the root of that."""
    copy: Node = json.loads(json.dumps({**schema}))
    for node in list(_parts(copy)):
        for key in _REFERENCES:
            if key in node:
                node[key] = _seen_from_root(node[key], pointer)
    definitions: Node = {key: copy.pop(key) for key in _DEFINITIONS if key in copy}
    return {key: value for key, value in copy.items() if key not in {"$id", "$schema"}}, definitions


def _seen_from_root(reference: str, pointer: str) -> str:
    """Return the reference as seen from the root: definitions move there, and an anchor is known everywhere."""
    stays = tuple(f"#/{key}/" for key in _DEFINITIONS)
    if unquote(reference).startswith(stays) or not (reference == "#" or reference.startswith("#/")):
        return reference
    return f"#{pointer}{reference[1:]}"


def _parts(schema: Node) -> Iterator[Node]:
    """Yield every schema in a schema, itself first, but those that are `true` or `false`."""
    from referencing.jsonschema import DRAFT202012  # noqa: PLC0415  slow, and seldom needed

    waiting: list[Any] = [schema]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, bool):
            yield node
            waiting.extend(DRAFT202012.subresources_of(node))


def _stray(schema: Node) -> str | None:
    """Return the fault of the references of a schema that is valid otherwise; None for none."""
    from referencing import Registry  # noqa: PLC0415  slow, and seldom needed
    from referencing.exceptions import Unresolvable  # noqa: PLC0415  slow, and seldom needed
    from referencing.jsonschema import DRAFT202012  # noqa: PLC0415  slow, and seldom needed

    parts = {id(node): node for node in _parts(schema)}
    resolver = Registry[Any]().resolver_with_root(DRAFT202012.create_resource(schema))
    targets: dict[int, list[int]] = {}
    for node in parts.values():
        if "$id" in node and node is not schema:
            return f"only the whole schema may have an '$id', and a part of it has '{node['$id']}'"
        for reference in (node[key] for key in _REFERENCES if key in node):
            if not reference.startswith("#"):
                return f"the reference '{reference}' leads out of the schema, and nothing is fetched; allowed: '#…'"
            try:
                target = resolver.lookup(reference).contents
            except (Unresolvable, ValueError, TypeError):
                return f"the reference '{reference}' leads nowhere"
            if id(target) not in parts and not isinstance(target, bool):
                return f"the reference '{reference}' leads to no schema"
            targets.setdefault(id(node), []).append(id(target))
    try:
        TopologicalSorter({key: (*targets.get(key, ()), *_alongside(node)) for key, node in parts.items()}).prepare()
    except CycleError:
        return "its references lead round in a circle, without going into the value"
    return None


def _alongside(schema: Node) -> Iterator[int]:
    """Yield the parts that the same value is held to as the whole."""
    for key in ("allOf", "anyOf", "oneOf"):
        yield from map(id, schema.get(key, ()))
    yield from (id(schema[key]) for key in ("not", "if", "then", "else") if key in schema)
    yield from map(id, schema.get("dependentSchemas", {}).values())
