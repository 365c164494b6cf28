"""Reserved fields: accepted and documented, but without effect; setting one is reported."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel

from ohm_subagents._config.layers import leaves

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from ohm_subagents._config.jsonc import KeyPath
    from ohm_subagents._config.layers import Layer
    from ohm_subagents.contract.diagnostics import Diagnostic

NOTE: Final = "Reserved: read and checked, without effect yet."
RESERVED: Final[dict[str, JsonValue]] = {"$comment": NOTE}
"""`json_schema_extra` of a reserved field, or of a section all of whose fields are."""


def reserved_fields(schema: type[BaseModel], path: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the reserved fields, as they are written in a file."""
    for name, field in schema.model_fields.items():
        at = (*path, field.alias or name)
        if field.json_schema_extra == RESERVED:
            yield at
        elif isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from reserved_fields(field.annotation, at)


def without_effect(layer: Layer, schema: type[BaseModel]) -> Iterator[Diagnostic]:
    """Name each reserved value of the layer that is not the default."""
    reserved, defaults = _reserved(schema)
    for path in leaves(layer.values):
        is_reserved = any(path[: len(one)] == one for one in reserved)
        if is_reserved and _value(layer.values, path) != _value(defaults, path):
            place = layer.place(path)
            message = f"'{place.key}' is reserved: it is read and checked, but has no effect yet."
            yield place.diagnostic(message, severity="info")


@cache  # the schema never changes, and its defaults cost more than reading a small file
def _reserved(schema: type[BaseModel]) -> tuple[tuple[KeyPath, ...], Mapping[str, JsonValue]]:
    """Return the reserved fields, and the defaults of all fields."""
    return tuple(reserved_fields(schema)), schema().model_dump(mode="json", by_alias=True)


def _value(values: Mapping[str, JsonValue], path: KeyPath) -> JsonValue:
    inner = values.get(path[0])
    return _value(inner, path[1:]) if len(path) > 1 and isinstance(inner, dict) else inner
