"""A budget that cannot be understood: nobody knows what may be spent, so nothing that it is about runs (house 9.10)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from ohm_subagents._config.accept import accepted
from ohm_subagents._config.limits import Budgeted
from ohm_subagents._config.subagents import EVERY, SubagentEntry, Subagents
from ohm_subagents._config.tool_rules import is_like
from ohm_subagents.contract.profile import fold_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from ohm_subagents._config.jsonc import KeyPath
    from ohm_subagents._config.layers import Layer
    from ohm_subagents.contract.diagnostics import Diagnostic

_KEY: Final = "budget"
_SETTINGS: Final = frozenset(field.alias for field in Subagents.model_fields.values())
_ENTRY: Final = frozenset(field.alias for field in SubagentEntry.model_fields.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetReading:
    """A layer whose budgets are sound, and why some are not: by folded id, `EVERY` for all subagents."""

    layer: Layer
    unclear: Mapping[str, str] = field(default_factory=dict[str, str])
    diagnostics: tuple[Diagnostic, ...] = ()


def read_budgets(layer: Layer) -> BudgetReading:
    """Take what is wrong out of every budget. A key that is nearly `budget` is meant so."""
    unclear: dict[str, str] = {}
    wrong: list[Diagnostic] = []
    values = layer.values
    for path, value in _written(layer):
        owner = fold_id(path[-2]) if len(path) > 2 else EVERY
        sound, found = _read(layer, path, value, owner)
        values = _with(values, path, sound)
        wrong += found
        if found:
            unclear.setdefault(owner, str(found[0]))
    return BudgetReading(layer=replace(layer, values=values), unclear=unclear, diagnostics=tuple(wrong))


def _read(layer: Layer, path: KeyPath, value: JsonValue, owner: str) -> tuple[JsonValue, list[Diagnostic]]:
    fate = f"keeps {'the' if owner else 'every'} subagent from running until it is corrected"
    place = layer.place(path)
    if path[-1] != _KEY or len(path) == 1:
        meant = "budget" if owner else "subagents.budget"
        told = f"'{place.key}' is not a known key, and {fate}. Did you mean '{meant}'?"
        return None, [place.diagnostic(told, severity="error")]
    kept, wrong = accepted(
        Budgeted, {_KEY: value}, lambda at: layer.place((*path[:-1], *at)), complete=False, fate=fate
    )
    twice = [
        layer.place(at).diagnostic(f"'{layer.place(at).key}' is given twice, and {fate}. Give it once.")
        for at in layer.repeated
        if at[: len(path)] == path
    ]
    return kept.get(_KEY), [replace(one, severity="error") for one in (*wrong, *twice)]


def _written(layer: Layer) -> Iterator[tuple[KeyPath, JsonValue]]:
    """Every key that is `budget` or meant so, where one may stand or be lost: at the top, for all, for one."""
    for key, value in layer.values.items():
        if is_like(key, (_KEY,)):
            yield (key,), value
    section = layer.values.get("subagents")
    if not isinstance(section, dict):
        return
    for key, value in section.items():
        if key == _KEY or (key not in _SETTINGS and is_like(key, (_KEY,)) and not _is_entry(value)):
            yield ("subagents", key), value
    profiles = section.get("profiles")
    for prefix, entries in ((("subagents", "profiles"), profiles), (("subagents",), section)):
        for name, entry in entries.items() if isinstance(entries, dict) else ():
            if isinstance(entry, dict) and (len(prefix) == 2 or name not in _SETTINGS):
                yield from (((*prefix, name, key), value) for key, value in entry.items() if is_like(key, (_KEY,)))


def _is_entry(value: JsonValue) -> bool:
    """Whether it can only be the entry of a subagent of such a name."""
    return isinstance(value, dict) and bool(value) and value.keys() <= _ENTRY


def _with(values: Mapping[str, JsonValue], path: KeyPath, value: JsonValue) -> dict[str, JsonValue]:
    """The values with another one at the path; None takes it away."""
    first, *rest = path
    inner = values[first]
    changed = _with(inner, tuple(rest), value) if rest and isinstance(inner, dict) else value
    kept = {key: one for key, one in values.items() if key != first or changed is not None}
    return kept if changed is None else {**kept, first: changed}
