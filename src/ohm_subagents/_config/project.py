"""What a project's file may not do: it comes with somebody else's repository, so it tightens and never loosens."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ohm_subagents._config.schema import OhmConfig
from ohm_subagents._config.trust import COMMAND
from ohm_subagents._config.values import shown, switch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pydantic import JsonValue

    from ohm_subagents._config.jsonc import KeyPath
    from ohm_subagents._config.layers import Layer, Place
    from ohm_subagents.contract.diagnostics import Diagnostic

# Neither unblock plugins, nor send a key to an address of its choice, nor name a command that a backend
# runs, nor let more profiles in, nor decide what becomes of the user's tasks, of which most are of other projects.
_USERS_ALONE: Final[tuple[KeyPath, ...]] = (
    ("loadPlugins",),
    ("blockPlugins",),
    ("providers",),
    ("taskMaxEntries",),
    ("taskMaxExpiredEntries",),
    ("subagents", "agentProfiles"),
    ("subagents", "backends"),
    ("subagents", "redact"),
    ("subagents", "taskRetentionMs"),
    ("subagents", "store"),
    ("subagents", "storeSync"),
    ("suiteOptions", "delegate"),
    ("suiteOptions", "sticky"),
)
_FEATURES: Final = "features"
_FALLBACK: Final = ("sdkFallbackToCli",)
_ENTRIES: Final = ("subagents", "profiles")
_GENERAL: Final = ("subagentBackend",)
_TOOLLESS: Final = frozenset({"none"})
_TRUSTED: Final = frozenset({"none", "interactive-sdk"})


def choices(*, is_trusted: bool) -> frozenset[str]:
    """The backends that a project may choose besides those of its user.

    Tools of interactive-sdk are at work on this machine, `bash` without any bounds, so before the user trusts the
    project it moves nothing there from a backend that may keep them apart.
    """
    return _TRUSTED if is_trusted else _TOOLLESS


def why_not(chosen: JsonValue) -> str:
    """Why a project may not choose this backend, and who can."""
    advice = f", or trust the project ('{COMMAND}')" if chosen in _TRUSTED else ""
    rule = "a project chooses none, interactive-sdk once it is trusted, and what the user has chosen"
    return f"{rule}; set it in the user's file{advice}."


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
    void = {**dict(_switched_on(layer, below, origin)), **dict(_moved(layer, below))}
    for path, message in void.items():
        found.append(layer.place(path).diagnostic(message))
        values, _ = _without(values, path)
    places = {path: place for path, place in layer.places.items() if path not in void}
    return replace(layer, values=values, places=places), tuple(found)


def _switched_on(
    layer: Layer, below: Mapping[str, JsonValue], origin: Callable[[KeyPath], Place]
) -> Iterator[tuple[KeyPath, str]]:
    """What a project may turn off, and not on."""
    features = _at(layer.values, (_FEATURES,))
    flags: list[KeyPath] = [(_FEATURES, key) for key in features] if isinstance(features, dict) else []
    off = [path for path in flags if switch(_at(below, path)) is False]
    if not switch(_at(below, _FALLBACK)):
        off.append(_FALLBACK)
    for path in off:
        if switch(_at(layer.values, path)):
            stands = f"{origin(path)} says false" if _at(below, path) is not None else "the default is false"
            yield path, f"'{layer.place(path).key}' is true, which has no effect: {stands}."


def _moved(layer: Layer, below: Mapping[str, JsonValue]) -> Iterator[tuple[KeyPath, str]]:
    """Backends that a project may not send runs to."""
    entries = _at(layer.values, _ENTRIES)
    own = entries.items() if isinstance(entries, dict) else ()
    said: list[KeyPath] = [(*_ENTRIES, name, "backend") for name, entry in own if _has(entry, "backend")]
    if _has({**layer.values}, *_GENERAL):
        said.append(_GENERAL)
    allowed = choices(is_trusted=layer.is_trusted)
    for path in said:
        chosen, stands = _at(layer.values, path), _at(below, path)
        if stands is None and path == _GENERAL:
            stands = OhmConfig.model_fields["subagent_backend"].default
        if chosen != stands and chosen not in allowed and not (chosen is None and layer.is_trusted):
            yield path, f"'{layer.place(path).key}' is {shown(chosen)}, which has no effect: {why_not(chosen)}"


def _has(values: JsonValue, key: str) -> bool:
    return isinstance(values, dict) and key in values


def _at(values: Mapping[str, JsonValue], path: KeyPath) -> JsonValue:
    found: JsonValue = {**values}
    for part in path:
        found = found.get(part) if isinstance(found, dict) else None
    return found


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
