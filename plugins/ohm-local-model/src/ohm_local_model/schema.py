"""JSON schemas that a small model can be held to: everything it could repeat for ever gets an end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

MAX_STRING: Final = 1000
MAX_ITEMS: Final = 32
MAX_NUMBER: Final = 2**53 - 1
"""The largest integer that every JSON reader keeps exact (RFC 8259, section 6)."""

SMALLEST_STEP: Final = 1e-9
"""Of numbers, which could otherwise have decimals without end."""

_MAPS: Final = ("properties", "patternProperties", "$defs", "definitions")
_LISTS: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLES: Final = ("items", "additionalProperties")
_COMPOSED: Final = ("$ref", "anyOf", "oneOf", "allOf", "patternProperties")


def bounded(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Add limits to strings, arrays and numbers, and close objects that leave their keys open.

    Limits that are there already and are tighter stay. A pattern with look-around is dropped, because the grammar
    compiler refuses it: whoever asked for it still validates the value.
    """
    out = {key: _bounded_members(key, value) for key, value in schema.items()}
    if "enum" in out or "const" in out:
        return out
    kinds = out.get("type")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        match kind:
            case "string":
                _limit(out, "maxLength", MAX_STRING)
                if _looks_around(out.get("pattern")):
                    del out["pattern"]
            case "array":
                _limit(out, "maxItems", MAX_ITEMS)
            case "integer":
                _default(out, "minimum", -MAX_NUMBER, unless="exclusiveMinimum")
                _default(out, "maximum", MAX_NUMBER, unless="exclusiveMaximum")
            case "number":
                out.setdefault("multipleOf", SMALLEST_STEP)
            case "object" if not any(key in out for key in _COMPOSED):
                out.setdefault("additionalProperties", False)
            case _:
                pass
    return out


def _bounded_members(key: str, value: JsonValue) -> JsonValue:
    """Return the value of a keyword, with the schemas in it bounded."""
    match value:
        case dict() if key in _MAPS:
            return {name: bounded(member) if isinstance(member, dict) else member for name, member in value.items()}
        case list() if key in _LISTS:
            return [bounded(choice) if isinstance(choice, dict) else choice for choice in value]
        case dict() if key in _SINGLES:
            return bounded(value)
        case _:
            return value


def _limit(schema: dict[str, JsonValue], key: str, ceiling: int) -> None:
    given = schema.get(key)
    schema[key] = min(given, ceiling) if isinstance(given, int) else ceiling


def _default(schema: dict[str, JsonValue], key: str, value: int, *, unless: str) -> None:
    if unless not in schema:
        schema.setdefault(key, value)


def _looks_around(pattern: JsonValue) -> bool:
    return isinstance(pattern, str) and any(mark in pattern for mark in ("(?=", "(?!", "(?<=", "(?<!"))
