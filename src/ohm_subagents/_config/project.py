"""What a project's file may not do: it comes with somebody else's repository, so it tightens and never loosens."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ohm_subagents._config.values import switch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import JsonValue

    from ohm_subagents._config.jsonc import KeyPath
    from ohm_subagents._config.layers import Layer, Place
    from ohm_subagents.contract.diagnostics import Diagnostic

# Neither unblock plugins, nor send a key to an address of its choice, nor name a command that a backend
# runs, nor decide what becomes of the user's tasks, of which most are of other projects.
_USERS_ALONE: Final[tuple[KeyPath, ...]] = (
    ("loadPlugins",),
    ("blockPlugins",),
    ("providers",),
    ("taskMaxEntries",),
    ("taskMaxExpiredEntries",),
    ("subagents", "backends"),
    ("subagents", "taskRetentionMs"),
    ("subagents", "store"),
    ("subagents", "storeSync"),
)
_FEATURES: Final = "features"


def tightened(
    layer: Layer, below: Mapping[str, JsonValue], origin: Callable[[KeyPath], Place]
) -> tuple[Layer, tuple[Diagnostic, ...]]:
    """A project's layer without what it may not say above the values `below`; any other layer as it is."""
    if layer.kind != "project":
        return layer, ()
    found: list[Diagnostic] = []
    values = dict(layer.values)
    for path in _USERS_ALONE:
        values, taken = _without(values, path)
        if taken is not None:
            name = ".".join(path)
            message = f"'{name}' cannot be set by a project, and is ignored; set it in the user's file."
            found.append(layer.place(path).diagnostic(message))
    features, lower = values.get(_FEATURES), below.get(_FEATURES)
    if isinstance(features, dict) and isinstance(lower, dict):
        on = [key for key, value in features.items() if switch(value) and switch(lower.get(key)) is False]
        for key in on:
            place, stands = layer.place((_FEATURES, key)), origin((_FEATURES, key))
            found.append(place.diagnostic(f"'{place.key}' is true, which has no effect: {stands} says false."))
        values[_FEATURES] = {key: value for key, value in features.items() if key not in on}
        void = {(_FEATURES, key) for key in on}
        layer = replace(layer, places={path: place for path, place in layer.places.items() if path not in void})
    return replace(layer, values=values), tuple(found)


def _without(values: dict[str, JsonValue], path: KeyPath) -> tuple[dict[str, JsonValue], JsonValue]:
    """A copy without the value at `path`, and that value."""
    key, *below = path
    inner = values.get(key)
    if not below:
        return {each: value for each, value in values.items() if each != key}, inner
    if not isinstance(inner, dict):
        return values, None
    left, taken = _without(inner, tuple(below))
    return {**values, key: left}, taken
