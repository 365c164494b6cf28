"""What ohm.json of a project may say before its user trusts it: less than what stands, of a few keys, and no other."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from ohm_subagents._config.layers import leaves, without_values
from ohm_subagents._config.schema import OhmConfig
from ohm_subagents._config.trust import COMMAND
from ohm_subagents._config.values import shown, switch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pydantic import JsonValue

    from ohm_subagents._config.jsonc import KeyPath
    from ohm_subagents._config.layers import Layer
    from ohm_subagents.contract.diagnostics import Diagnostic

_OWN: Final = ("subagents", "profiles")
_ANY: Final = "*"
_ELSEWHERE: Final[tuple[KeyPath, ...]] = (
    ("subagentBackend",),
    ("sdkFallbackToCli",),
    ("features",),
    ("backendTimeoutMs",),
    ("subagents", "limits"),
    ("subagents", "loop"),
    ("subagents", "budget"),
    ("subagents", "maxRequests"),
    *((*_OWN, _ANY, key) for key in ("backend", "limits", "loop", "budget")),
)
"""What no project loosens, trusted or not: held to what stands where those rules are."""


def _no_more(value: JsonValue, stands: JsonValue) -> bool:
    return _size(value) <= _size(stands)


def _no_less(value: JsonValue, stands: JsonValue) -> bool:
    return value is not None and _size(value) >= _size(stands)


def _size(value: JsonValue) -> Decimal:
    return Decimal("Infinity") if value is None else Decimal(str(value))


def _off(value: JsonValue, _stands: JsonValue) -> bool:
    return switch(value) is False


def _no_later(order: tuple[str, ...]) -> Callable[[JsonValue, JsonValue], bool]:
    return lambda value, stands: order.index(str(value)) <= order.index(str(stands))


_LESS: Final[Mapping[KeyPath, Callable[[JsonValue, JsonValue], bool]]] = {
    ("defaultMode",): _no_later(("rush", "smart", "deep")),
    ("uiMode",): _no_later(("off", "compact", "verbose")),
    ("debug",): _off,
    ("onupdateThrottleMs",): _no_less,
    ("uiUpdateMs",): _no_less,
    **dict.fromkeys(
        (
            ("uiIdleGraceMs",),
            ("outputMaxChars",),
            ("taskMaxEvents",),
            ("resultPreviewLines",),
            ("transcriptTailLines",),
            ("subagents", "taskMaxConcurrency"),
            ("subagents", "maxRunning"),
            ("subagents", "requestRetries"),
        ),
        _no_more,
    ),
    ("subagents", "asyncStart"): _no_later(("refuse", "allow")),
    ("subagents", "sendToFinished"): _no_later(("refuse", "resume")),
    (*_OWN, _ANY, "primary"): _off,
}
"""When a value asks for less than the one that stands. A key that is not here may only say what stands."""


def held(layer: Layer, below: Mapping[str, JsonValue]) -> tuple[Layer, tuple[Diagnostic, ...]]:
    """A project's layer that its user does not trust, without what it may not say above `below`; any other as it is."""
    if layer.kind != "project" or layer.is_trusted:
        return layer, ()
    defaults = OhmConfig().model_dump(mode="json", by_alias=True)
    refused = [path for path in leaves(layer.values) if not _may_say(path, layer.values, below, defaults)]
    less = without_values(layer, frozenset(refused))
    suites = layer.values.get("suites")
    if ("suites",) in refused and isinstance(suites, list):
        stands = _stands(below, defaults, ("suites",))
        left: list[JsonValue] = [one for one in suites if isinstance(stands, list) and one in stands]
        less = replace(less, values={**less.values, "suites": left})
    return less, tuple(_told(layer, refused))


def _told(layer: Layer, refused: list[KeyPath]) -> Iterator[Diagnostic]:
    for path in refused:
        place, value = layer.place(path), _at(layer.values, path)
        what = "is given" if path[0] == "suiteOptions" else f"is {shown(value)}"
        yield place.diagnostic(
            f"'{place.key}' {what}, which has no effect: a project that is not trusted only tightens. To allow it, "
            f"set it in the user's file, or trust the project ('{COMMAND}')."
        )


def _may_say(
    path: KeyPath, values: Mapping[str, JsonValue], below: Mapping[str, JsonValue], defaults: Mapping[str, JsonValue]
) -> bool:
    general = (*_OWN, _ANY, *path[3:]) if path[:2] == _OWN and len(path) > len(_OWN) else path
    if any(general[: len(one)] == one for one in _ELSEWHERE):
        return True
    value, stands = _at(values, path), _stands(below, defaults, path)
    if path == ("suites",):
        return isinstance(value, list) and isinstance(stands, list) and all(one in stands for one in value)
    is_less = _LESS.get(general)
    return value == stands or (is_less is not None and is_less(value, stands))


def _stands(below: Mapping[str, JsonValue], defaults: Mapping[str, JsonValue], path: KeyPath) -> JsonValue:
    found = _at(below, path)
    return _at(defaults, path) if found is None else found


def _at(values: Mapping[str, JsonValue], path: KeyPath) -> JsonValue:
    found: JsonValue = {**values}
    for part in path:
        found = found.get(part) if isinstance(found, dict) else None
    return found
