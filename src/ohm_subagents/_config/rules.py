"""`subagents.permissions` of one file: a value in it that is wrong denies, and is named."""

from __future__ import annotations

from dataclasses import replace
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING, Final, get_args

from ohm_subagents._config.layers import object_at, without_values
from ohm_subagents._config.permissions import Permissions, Rules
from ohm_subagents._config.values import parse_switch, quoted_value
from ohm_subagents.contract.profile import Decision, StartVerdict, fold_id
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ohm_subagents._config.jsonc import KeyPath
    from ohm_subagents._config.layers import Layer
    from ohm_subagents.contract.diagnostics import Diagnostic, Severity

PATH: Final[KeyPath] = ("subagents", "permissions")
_KEYS: Final = ("allowInternalRouting", "default", "subagents")
_LIKENESS: Final = 0.8
_VERDICTS: Final = "Allowed: 'allow', 'deny'."


def read_rules(layer: Layer) -> tuple[Layer, Rules, tuple[Diagnostic, ...]]:
    """Take the rules out of a layer; return the rest, the rules, and the faults."""
    reader = _Reader(layer)
    members = object_at(layer.values, PATH[:1])
    rules = reader.section(members[PATH[-1]]) if PATH[-1] in members else Rules()
    written: list[KeyPath] = [*((key,) for key in layer.values), *((PATH[0], key) for key in members)]
    meant = [path for path in written if _is_meant(path[-1])]
    for path in meant:
        if path != PATH:
            rules = replace(rules, default=reader.misplaced(path))
    rules = replace(rules, may_only_tighten=layer.kind == "project")
    return without_values(layer, meant), rules, tuple(reader.wrong)


@lru_cache(maxsize=256)  # the same few keys, for each layer of each file
def _is_meant(key: str) -> bool:
    """Return True if a key is `permissions`, or that misspelt."""
    return SequenceMatcher(None, fold_id(key), PATH[-1]).ratio() >= _LIKENESS


class _Reader:
    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self.wrong: list[Diagnostic] = []

    def section(self, value: JsonValue) -> Rules:
        if not isinstance(value, dict):
            return Rules(
                default=self._denied(
                    PATH, f"is {quoted_value(value)}, but has to be an object; every subagent is denied."
                )
            )
        default = self._verdict((*PATH, "default"), value["default"]) if "default" in value else None
        for key in value.keys() - set(_KEYS):
            default = self._denied(
                (*PATH, key),
                f"is not a key of permissions (allowed: {', '.join(_KEYS)}). {did_you_mean(key, _KEYS)}Until it is "
                "corrected, every subagent without a rule of its own is denied.",
            )
        rules: dict[str, Decision] = {}
        entries = value.get("subagents", {})
        if isinstance(entries, dict):
            rules = self._entries(entries)
        else:
            default = self._denied(
                (*PATH, "subagents"),
                f"is {quoted_value(entries)}, but has to be an object; every subagent is denied.",
            )
        routing_path = (*PATH, "allowInternalRouting")
        return Rules(
            default=default,
            subagents=rules,
            routing=self._routing(routing_path, value["allowInternalRouting"]) if routing_path[-1] in value else None,
            routing_source=str(self._layer.place(routing_path)),
        )

    def misplaced(self, path: KeyPath) -> Decision:
        return self._denied(
            path,
            f"is not a known key. Did you mean '{'.'.join(PATH)}'? Until it is corrected, every subagent without a "
            "rule of its own is denied.",
        )

    def _entries(self, entries: dict[str, JsonValue]) -> dict[str, Decision]:
        """Trim and fold the ids; of two spellings of one id, the deny counts."""
        rules: dict[str, Decision] = {}
        for written, value in entries.items():
            profile_id = fold_id(written)
            path = (*PATH, "subagents", written)
            if not profile_id:
                self._note(path, "names no subagent; the rule is ignored.")
                continue
            rule = self._verdict(path, value)
            if profile_id not in rules or rule.verdict == "deny":
                rules[profile_id] = rule
        return rules

    def _verdict(self, path: KeyPath, value: JsonValue) -> Decision:
        if path in self._layer.repeated:
            return self._denied(path, f"is given twice; it counts as 'deny'. {_VERDICTS}")
        if value == "ask":
            return self._denied(path, f"is 'ask', which is no longer supported; it counts as 'deny'. {_VERDICTS}")
        for verdict in get_args(StartVerdict):
            if value == verdict:
                place = self._layer.place(path)
                return Decision(verdict=verdict, source=str(place), reason=f"{place.key} is '{verdict}'")
        return self._denied(path, f"is {quoted_value(value)}; it counts as 'deny'. {_VERDICTS}")

    def _routing(self, path: KeyPath, value: JsonValue) -> bool:
        meaning = parse_switch(value)
        if meaning is None or path in self._layer.repeated:
            self._note(path, f"is {quoted_value(value)}, but has to be true or false, once; it counts as false.")
            return False
        return meaning

    def _denied(self, path: KeyPath, message: str) -> Decision:
        self._note(path, message, severity="error")
        place = self._layer.place(path)
        return Decision(verdict="deny", source=str(place), reason=f"{place.key} cannot be followed as written")

    def _note(self, path: KeyPath, message: str, *, severity: Severity = "warning") -> None:
        place = self._layer.place(path)
        self.wrong.append(place.diagnostic(f"'{place.key}' {message}", severity=severity))


def overruled(layer: Layer, rules: Rules, merged: Permissions) -> tuple[Diagnostic, ...]:
    """Name each rule that is open in this file and that another file closes."""
    entries = (*PATH, "subagents")
    written: dict[KeyPath, KeyPath] = {
        (*entries, fold_id(path[-1])): path for path in layer.places if path[:-1] == entries
    }
    allows: list[tuple[KeyPath, Decision | None, Decision]] = [((*PATH, "default"), rules.default, merged.default)]
    allows += [((*entries, name), rule, merged.subagents[name]) for name, rule in rules.subagents.items()]
    found: list[Diagnostic] = []
    for path, rule, in_force in allows:
        if rule is not None and rule.verdict == "allow" and in_force.verdict == "deny":
            place = layer.place(written.get(path, path))
            found.append(
                place.diagnostic(f"'{place.key}' is 'allow', which has no effect: {in_force.source} denies it.")
            )
    if rules.routing and not merged.allow_internal_routing:
        place = layer.place((*PATH, "allowInternalRouting"))
        says = merged.routing_source
        why = "only the user's file can set it" if says == "default" else f"{says} says false"
        found.append(place.diagnostic(f"'{place.key}' is true, which has no effect: {why}."))
    return tuple(found)
