"""One map of the entries of subagents, whose long and short forms are joined by folded id; providers likewise."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ohm_subagents._config.accept import meant_key
from ohm_subagents._config.layers import merged, object_at
from ohm_subagents._config.schema import OhmConfig
from ohm_subagents._config.subagents import RESERVED_IDS, Subagents
from ohm_subagents.contract.profile import fold_id
from ohm_subagents.contract.spelling import nearest_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pydantic import JsonValue

    from ohm_subagents._config.jsonc import KeyPath
    from ohm_subagents._config.layers import Layer, Location
    from ohm_subagents.contract.diagnostics import Diagnostic

_SECTIONS: Final = ("profiles", "backends", "limits", "loop", "maxrequests")
_LIKENESS: Final = 0.8
_LIKE: Final = 0.75
SHOWN_BY: Final = "`ohm config schema`"
SECTION: Final = "subagents"
SETTINGS: Final = frozenset(field.alias or name for name, field in Subagents.model_fields.items())
"""The keys of `subagents` that are no subagent."""


@lru_cache(maxsize=1 << 14)  # each key of a file is asked about for each of some names, and files have the same keys
def is_like(key: str, names: tuple[str, ...]) -> bool:
    """Return True if a key is one of the names, or one of them misspelt."""
    return nearest_name(fold_id(key), names, likeness=_LIKE) is not None


def of_entries(layer: Layer, names: tuple[str, ...]) -> Iterator[tuple[KeyPath, JsonValue]]:
    """Yield what the entry of each subagent has under such a key, also misspelt, so that no rule is lost with a letter.

    The long form comes before the short form, which wins.
    """
    for prefix in ((SECTION, "profiles"), (SECTION,)):
        for name, entry in object_at(layer.values, prefix).items():
            if isinstance(entry, dict) and (len(prefix) == 2 or name not in SETTINGS):
                yield from (((*prefix, name, key), value) for key, value in entry.items() if is_like(key, names))


def unified(layer: Layer) -> tuple[Layer, tuple[Diagnostic, ...]]:
    """Put every entry of a layer, with its places, under `subagents.profiles.<folded id>`; the short form wins."""
    wrong: list[Diagnostic] = []
    values = dict(layer.values)
    places = dict(layer.places)
    below = _by_beginning(layer.places)
    _fold_providers(places, values, ("providers",), below)
    section = values.get("subagents")
    if isinstance(section, dict):
        kept = {key: value for key, value in section.items() if key in SETTINGS}
        _fold_providers(places, kept, ("subagents", "maxRequests"), below)
        profiles = section.get("profiles", {})
        if isinstance(profiles, dict):
            entries: dict[str, JsonValue] = {}
            long_form: list[KeyPath] = [("subagents", "profiles", key) for key in profiles]
            short_form: list[KeyPath] = [("subagents", key) for key in section if key not in SETTINGS]
            for path in (*long_form, *short_form):
                value = profiles[path[-1]] if len(path) == 3 else section[path[-1]]
                reason = _refusal(path, value)
                if reason:
                    place = layer.place(path)
                    wrong.append(place.diagnostic(f"'{place.key}' {reason}"))
                    continue
                profile_id = fold_id(path[-1])
                _move(places, path, ("subagents", "profiles", profile_id), below)
                former = entries.get(profile_id)
                entries[profile_id] = (
                    merged(former, value) if isinstance(former, dict) and isinstance(value, dict) else value
                )
            kept["profiles"] = entries
        values["subagents"] = kept
    return replace(layer, values=values, places=places), tuple(wrong)


def _refusal(path: KeyPath, value: JsonValue) -> str:
    profile_id = fold_id(path[-1])
    if profile_id in RESERVED_IDS:
        setting = f"The setting is 'subagents.{_exact(profile_id)}'."
        return f"is a reserved key and cannot be a subagent; it is ignored. {setting}"
    if len(path) == 2 and (meant := _meant(profile_id)):
        return (
            f"is not known, and is ignored. Did you mean 'subagents.{meant}'? "
            f"A subagent of that name is configured as 'subagents.profiles.{path[-1]}'."
        )
    if not profile_id:
        return "names no subagent; it is ignored."
    if len(path) == 2 and not isinstance(value, dict):
        advice = meant_key(path[-1], sorted(SETTINGS), SHOWN_BY, OhmConfig)
        return f"is not known, and is ignored. {advice} For a subagent of that name it has to be an object."
    return ""


def _meant(profile_id: str) -> str | None:
    """Return the setting that is an object, as an entry is, and is spelt nearly like this."""
    near = nearest_name(profile_id, _SECTIONS, likeness=_LIKENESS)
    return None if near is None else _exact(near)


def _exact(profile_id: str) -> str:
    return next(name for name in SETTINGS if name.lower() == profile_id)


def _by_beginning(places: Iterable[KeyPath]) -> Mapping[KeyPath, list[KeyPath]]:
    """Group the paths by entry: searched one by one, many entries would take the square of their number."""
    found: defaultdict[KeyPath, list[KeyPath]] = defaultdict(list)
    for path in places:
        for length in range(2, 1 + min(len(path), 3)):
            found[path[:length]].append(path)
    return found


def _move(places: dict[KeyPath, Location], old: KeyPath, new: KeyPath, below: Mapping[KeyPath, list[KeyPath]]) -> None:
    """Add the places of everything below `old` below `new`, with the keys as they are written."""
    if old != new:
        places.update({(*new, *path[len(old) :]): places[path] for path in below.get(old, ())})


def _fold_providers(
    places: dict[KeyPath, Location],
    values: dict[str, JsonValue],
    path: KeyPath,
    below: Mapping[KeyPath, list[KeyPath]],
) -> None:
    """Name what is given for each provider by the folded name."""
    given = values.get(path[-1])
    if isinstance(given, dict):
        for name in given:
            _move(places, (*path, name), (*path, _provider(name)), below)
        values[path[-1]] = {_provider(name): value for name, value in given.items()}


def _provider(name: str) -> str:
    return name.strip().lower()
