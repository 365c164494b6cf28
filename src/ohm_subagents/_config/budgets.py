"""A budget that cannot be understood: it is not known what may be spent, so nothing that it is about runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ohm_subagents._config.accept import keep_valid
from ohm_subagents._config.entries import SECTION, SETTINGS, is_like, of_entries
from ohm_subagents._config.layers import object_at, with_value, without_values
from ohm_subagents._config.limits import Budgeted
from ohm_subagents._config.subagents import EVERY, SubagentEntry
from ohm_subagents.contract.profile import fold_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from ohm_subagents._config.jsonc import KeyPath
    from ohm_subagents._config.layers import Layer
    from ohm_subagents.contract.diagnostics import Diagnostic

_KEY: Final = "budget"
_LIKE: Final = (_KEY,)
_ENTRY: Final = frozenset(field.alias for field in SubagentEntry.model_fields.values())


def read_budgets(layer: Layer) -> tuple[Layer, Mapping[str, str], tuple[Diagnostic, ...]]:
    """Take the faults out of every budget; return the rest, why budgets are unclear, and the faults.

    The reasons are by folded id, `EVERY` for all subagents. A key that is nearly `budget` counts as meant.
    """
    unclear: dict[str, str] = {}
    wrong: list[Diagnostic] = []
    less: dict[KeyPath, JsonValue] = {}
    for path, value in _written(layer):
        owner = fold_id(path[-2]) if len(path) > 2 else EVERY
        sound, found = _read(layer, path, value, owner)
        wrong += found
        if found:
            less[path] = sound
            unclear.setdefault(owner, str(found[0]))
    values = without_values(layer, less).values
    for path, sound in less.items():
        values = values if sound is None else with_value(values, path, sound)
    return replace(layer, values=values), unclear, tuple(wrong)


def _read(layer: Layer, path: KeyPath, value: JsonValue, owner: str) -> tuple[JsonValue, list[Diagnostic]]:
    fate = f"keeps {'the' if owner else 'every'} subagent from running until it is corrected"
    place = layer.place(path)
    if path[-1] != _KEY or len(path) == 1:
        meant = _KEY if owner else f"{SECTION}.{_KEY}"
        message = f"'{place.key}' is not a known key, and {fate}. Did you mean '{meant}'?"
        return None, [place.diagnostic(message, severity="error")]
    kept, wrong = keep_valid(
        Budgeted, {_KEY: value}, lambda at: layer.place((*path[:-1], *at)), complete=False, fate=fate
    )
    twice = [
        layer.place(at).diagnostic(f"'{layer.place(at).key}' is given twice, and {fate}. Give it once.")
        for at in layer.repeated
        if at[: len(path)] == path
    ]
    return kept.get(_KEY), [replace(one, severity="error") for one in (*wrong, *twice)]


def _written(layer: Layer) -> Iterator[tuple[KeyPath, JsonValue]]:
    """Yield every key that is `budget` or meant so, where one belongs or is lost: at the top, for all, for one."""
    yield from (((key,), value) for key, value in layer.values.items() if is_like(key, _LIKE))
    for key, value in object_at(layer.values, (SECTION,)).items():
        if key == _KEY or (key not in SETTINGS and is_like(key, _LIKE) and not _is_entry(value)):
            yield (SECTION, key), value
    yield from of_entries(layer, _LIKE)


def _is_entry(value: JsonValue) -> bool:
    """Return True if it can only be the entry of a subagent of such a name."""
    return isinstance(value, dict) and bool(value) and value.keys() <= _ENTRY
