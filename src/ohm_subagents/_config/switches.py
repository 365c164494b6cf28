"""`features` and `sdkFallbackToCli`: a switch that nobody can understand is off, until it is corrected."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ohm_subagents._config.schema import FEATURES
from ohm_subagents._config.tool_rules import is_like
from ohm_subagents._config.values import shown, switch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from ohm_subagents._config.jsonc import KeyPath
    from ohm_subagents._config.layers import Layer
    from ohm_subagents.contract.diagnostics import Diagnostic

_SECTION: Final = "features"
_FALLBACK: Final = "sdkFallbackToCli"
_NOT_OF_FALLBACK: Final = frozenset({"enabled", "disabled"})
"""Words of a switch that are not known for this one, though they are for others."""
_OFF: Final = "counts as false until it is corrected"


@dataclass(frozen=True, slots=True)
class _Unclear:
    """A value that is no switch: where it stands, what is told of it, and the switches that it turns off."""

    path: KeyPath
    message: str
    off: tuple[KeyPath, ...]


def switched(layer: Layer) -> tuple[Layer, tuple[Diagnostic, ...]]:
    """The layer with false for every switch in it that is not understood, and what was written instead."""
    unclear = tuple(_unclear(layer))
    if not unclear:
        return layer, ()
    values, places = {**layer.values}, {**layer.places}
    told: list[Diagnostic] = []
    for one in unclear:
        place = layer.place(one.path)
        told.append(place.diagnostic(f"'{place.key}' {one.message}", severity="error"))
        values = _without(values, one.path)
        for path in one.off:
            values = _with_false(values, path)
            places[path] = place
    return replace(layer, values=values, places=places), tuple(told)


def _unclear(layer: Layer) -> Iterator[_Unclear]:
    features = tuple((_SECTION, name) for name in FEATURES)
    if _FALLBACK in layer.values:
        yield from _value(layer, (_FALLBACK,), layer.values[_FALLBACK])
    for key, value in layer.values.items():
        if key == _SECTION and isinstance(value, dict):
            for name, one in value.items():
                yield from _feature(layer, (key, name), one)
        elif key == _SECTION:
            told = f"is {shown(value)}, but has to be an object; every feature {_OFF}."
            yield _Unclear((key,), told, features)
        elif is_like(key, (_SECTION,)) and not switch(value):
            meant = [*filter(None, (_meant(name) for name in value))] if isinstance(value, dict) else FEATURES
            off = tuple(
                (_SECTION, name) for name in meant if not isinstance(value, dict) or not switch(value.get(name))
            )
            if off:
                told = f"is not a known key. Did you mean '{_SECTION}'? What it switches off {_OFF}."
                yield _Unclear((key,), told, off)


def _feature(layer: Layer, path: KeyPath, value: JsonValue) -> Iterator[_Unclear]:
    """A key that is nearly a feature is meant so, unless it asks for what is on anyway."""
    meant = _meant(path[-1])
    if path[-1] in FEATURES:
        yield from _value(layer, path, value)
    elif meant is not None and not switch(value):
        told = f"is not a known key. Did you mean '{_SECTION}.{meant}'? That {_OFF}."
        yield _Unclear(path, told, ((_SECTION, meant),))


def _meant(key: str) -> str | None:
    return next((name for name in FEATURES if is_like(key, (name.lower(),))), None)


def _value(layer: Layer, path: KeyPath, value: JsonValue) -> Iterator[_Unclear]:
    is_word_too_many = path == (_FALLBACK,) and isinstance(value, str) and value.strip().lower() in _NOT_OF_FALLBACK
    if path in layer.repeated:
        yield _Unclear(path, f"is given twice, and {_OFF}.", (path,))
    elif switch(value) is None or is_word_too_many:
        yield _Unclear(path, f"is {shown(value)}, but has to be true or false; it {_OFF}.", (path,))


def _without(values: Mapping[str, JsonValue], path: KeyPath) -> dict[str, JsonValue]:
    key, *below = path
    inner = values.get(key)
    if below and isinstance(inner, dict):
        return {**values, key: _without(inner, tuple(below))}
    return {name: value for name, value in values.items() if name != key}


def _with_false(values: Mapping[str, JsonValue], path: KeyPath) -> dict[str, JsonValue]:
    key, *below = path
    if not below:
        return {**values, key: False}
    inner = values.get(key)
    return {**values, key: _with_false(inner if isinstance(inner, dict) else {}, tuple(below))}
