"""What a project's file may lower and never raise: clocks, budgets, loop rules, requests in flight.

For every subagent it is held against what the user's file says, or the default. Where somebody else may say something
too, the profile of one subagent, or what an extension follows from, it is kept as a ceiling, which lowers whatever
stands without it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from ohm_subagents._config.budgets import EVERY
from ohm_subagents._config.entries import merged
from ohm_subagents._config.layers import leaves, without_values
from ohm_subagents._config.schema import OhmConfig
from ohm_subagents._config.values import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from ohm_subagents._config.jsonc import KeyPath
    from ohm_subagents._config.layers import Layer
    from ohm_subagents.contract.diagnostics import Diagnostic

_OWN: Final = ("subagents", "profiles")
_COMMON: Final = (
    ("backendTimeoutMs",),
    ("subagents", "limits"),
    ("subagents", "loop"),
    ("subagents", "budget"),
    ("subagents", "maxRequests"),
)
_EXTENSION: Final = ("subagents", "limits", "extendMs")
_SECTIONS: Final = ("limits", "loop", "budget")
_NO_LIMIT: Final = Decimal("Infinity")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """A layer without what it may not say, and the keys that it alone gives: by folded id (or `EVERY`) and section."""

    layer: Layer
    diagnostics: tuple[Diagnostic, ...] = ()
    keys: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict[tuple[str, str], frozenset[str]])


def ceilings(layer: Layer, below: Layer) -> Ceilings:
    """A project's layer above the values `below`; any other layer says what it likes."""
    if layer.kind != "project":
        return Ceilings(layer=layer)
    defaults = OhmConfig().model_dump(mode="json", by_alias=True)
    stands = merged(defaults, {**below.values})
    alone: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    void: dict[KeyPath, Diagnostic] = {}
    values = {**layer.values}
    for path in leaves(values):
        is_own = path[:2] == _OWN and len(path) == 5 and path[3] in _SECTIONS
        if not is_own and not any(path[: len(one)] == one for one in _COMMON):
            continue
        place = layer.place(path)
        if path[-1] == "polling":
            void[path] = place.diagnostic(
                f"'{place.key}' cannot be set by a project, and is ignored; set it in the user's file."
            )
            continue
        source = path if _at(stands, path) is not None or not is_own else (path[0], *path[3:])
        if is_own and source != path and path[3] != "loop":
            alone[path[2], path[3]].add(path[4])
            continue
        if source == _EXTENSION and _at(stands, source) is None:
            alone[EVERY, "limits"].add(source[-1])
        highest = _ceiling(stands, source)
        if _size(_at(values, path), path) > _size(highest, path):
            origin = below.places.get(source, "default")
            void[path] = place.diagnostic(
                f"'{place.key}' is {shown(_at(values, path))}, which has no effect: a project's file may say at "
                f"most {shown(highest)} ({origin}){', and not 0' if _is_loop(path) else ''}."
            )
    return Ceilings(
        layer=without_values(layer, void),
        diagnostics=tuple(void.values()),
        keys={owner: frozenset(keys) for owner, keys in alone.items()},
    )


def _size(value: JsonValue, path: KeyPath) -> Decimal:
    """How much a value lets happen: nothing said is no limit, and a rule of loops at 0 is off."""
    if value is None or (_is_loop(path) and value == 0):
        return _NO_LIMIT
    return Decimal(str(value))


def _is_loop(path: KeyPath) -> bool:
    return path[-2:-1] == ("loop",)  # a subagent may have that name


def _ceiling(stands: JsonValue, path: KeyPath) -> JsonValue:
    if path == _EXTENSION and _at(stands, path) is None:
        clocks = (_at(stands, (*path[:2], "idleMs")), _at(stands, ("backendTimeoutMs",)))
        return min(clock for clock in clocks if isinstance(clock, int))
    return _at(stands, path)


def _at(values: JsonValue, path: KeyPath) -> JsonValue:
    for part in path:
        values = values.get(part) if isinstance(values, dict) else None
    return values
