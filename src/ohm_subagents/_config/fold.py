"""The one fold over the layers of the configuration: it refuses, with a diagnostic, what a project may not set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import cache
from typing import TYPE_CHECKING, Final, get_args, get_origin

from pydantic import BaseModel

from ohm_subagents._config.layers import leaves, merged, value_at, with_value, without_values
from ohm_subagents._config.merge import REPLACE, USER_ONLY, Merge, Refused
from ohm_subagents._records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue
    from pydantic.fields import FieldInfo

    from ohm_subagents._config.jsonc import KeyPath
    from ohm_subagents._config.layers import Layer, Location
    from ohm_subagents.contract.diagnostics import Diagnostic

_ENTRIES: Final = ("subagents", "profiles")


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """The layers that were read so far, as one."""

    schema: type[BaseModel]
    """The model that checks the values; its fields have the merge policies."""
    values: Mapping[str, JsonValue] = field(default_factory=dict[str, "JsonValue"])
    """The values of the layers, as they are written, without defaults."""
    places: Mapping[KeyPath, Location] = field(default_factory=dict[tuple[str, ...], "Location"])
    """The file and line of each value."""
    ceilings: frozenset[KeyPath] = frozenset()
    """The paths of the values that only lower those of other layers."""

    def over(self, layer: Layer) -> tuple[Folded, tuple[Diagnostic, ...]]:
        """Fold in a layer of checked values; return the result, and a diagnostic for each value that has no effect."""
        refused: dict[KeyPath, Diagnostic] = {}
        met: dict[KeyPath, JsonValue] = {}
        ceilings = set(self.ceilings)
        current = merged(_defaults(self.schema), self.values)
        for path, merge in _policies(self.schema, layer) if layer.kind == "project" else ():
            given, said = value_at(layer.values, path), value_at(current, path)
            in_force = _follows(current, path, merge) if said is None else said
            if merge.is_ceiling and said is None:
                ceilings.add(path)
                if in_force is None:
                    continue
            counts = (merge.trusted if layer.is_trusted else merge.untrusted)(given, in_force)
            if counts != given:
                place, origin = layer.place(path), self.places.get(path if said is not None else _general(path))
                one = Refused(value=given, in_force=in_force, origin=str(origin or "default"))
                refused[path] = place.diagnostic(f"'{place.key}' {merge.refusal(one)}", advice=merge.advice(one))
                if counts != in_force:
                    met[path] = counts
        kept = without_values(layer, refused)
        for path, value in met.items():
            kept = replace(kept, values=with_value(kept.values, path, value))
        values = merged(self.values, kept.values)
        places = {**self.places, **kept.places, **{path: kept.place(path) for path in leaves(kept.values)}}
        less = frozenset(ceilings - refused.keys())
        folded = replace(self, values=values, places=places, ceilings=less)
        return folded, tuple(refused.values())


def _general(path: KeyPath) -> KeyPath:
    """Return the path of the rule for every subagent, for that of one; any other path as it is."""
    return (path[0], *path[3:]) if path[:2] == _ENTRIES and path[3:4] == ("loop",) else path


def _follows(current: Mapping[str, JsonValue], path: KeyPath, merge: Merge) -> JsonValue:
    """Return the value in force where none is set: that of every subagent, or the one that other limits imply."""
    if merge.implied_by:
        return min(one for other in merge.implied_by if isinstance(one := value_at(current, other), int))
    return value_at(current, _general(path)) if _general(path) != path else None


def _policies(schema: type[BaseModel], layer: Layer) -> Iterator[tuple[KeyPath, Merge]]:
    """Yield the path of each value, with its policy; one whose policy `is_whole` counts as one value."""

    def walk(annotation: object, merge: Merge, value: JsonValue, path: KeyPath) -> Iterator[tuple[KeyPath, Merge]]:
        if not isinstance(value, dict) or merge.is_whole:
            yield path, merge
            return
        for key, inner in value.items():
            yield from walk(*_member(annotation, merge, key), inner, (*path, key))

    yield from walk(schema, REPLACE, {**layer.values}, ())


def policy(schema: type[BaseModel], path: KeyPath) -> Merge:
    """Return the policy of a field, by its path in a file."""
    annotation: object = schema
    merge = REPLACE
    for key in path:
        annotation, merge = _member(annotation, merge, key)
    return merge


def _member(annotation: object, merge: Merge, key: str) -> tuple[object, Merge]:
    """Return the type and the policy of a member of an object, which has that of the object unless it has its own."""
    own = _fields(annotation).get(key)
    if own is not None:
        return own.annotation, next((one for one in own.metadata if isinstance(one, Merge)), merge)
    members = get_args(annotation)[-1] if get_origin(annotation) is Mapping else None
    return members, USER_ONLY if key in merge.users_members else merge


@cache
def _fields(annotation: object) -> Mapping[str, FieldInfo]:
    """Return the fields of a section as they are written in a file."""
    if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
        return {}
    return {own.alias or name: own for name, own in annotation.model_fields.items()}


@cache
def _defaults(schema: type[BaseModel]) -> dict[str, JsonValue]:
    return schema().model_dump(mode="json", by_alias=True)
