"""`subagents.<id>.tools`: what each file says, and what they say together.

The user's file decides: it may give a subagent more tools than its profile does (house 9.7). A project's file can only
take tools away. A subagent whose tools cannot be understood does not run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import reduce
from typing import TYPE_CHECKING, Final

from ohm_subagents._config.values import shown
from ohm_subagents.contract.profile import fold_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pydantic import JsonValue

    from ohm_subagents._config.jsonc import KeyPath
    from ohm_subagents._config.layers import Layer
    from ohm_subagents.contract.diagnostics import Diagnostic

KEY: Final = "tools"
_LIKE_TOOLS: Final = ("tools", "allow", "deny", "permissions")
_LIKENESS: Final = 0.75
_FORM: Final = 'It has to be a list of tools, or an object with the lists "allow" and "deny".'


def fold_tool(name: str) -> str:
    """The name of a tool as it is compared: `Bash` is `bash`."""
    return name.strip().casefold()


def has_tool(names: tuple[str, ...] | None, name: str) -> bool:
    """Whether a list has the tool, however it is spelt; no list has every tool."""
    return names is None or fold_tool(name) in map(fold_tool, names)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRules:
    """What the configuration says about the tools of one subagent.

    `allowed` replaces the profile's list, `denied` is taken away from whichever list holds. `at_most` is the list of a
    project: what it names and the others do not give is not given. `source` is where the last word was written;
    `unclear` is why nobody knows what was meant.
    """

    allowed: tuple[str, ...] | None = None
    denied: tuple[str, ...] = ()
    at_most: tuple[str, ...] | None = None
    source: str = ""
    unclear: str = ""

    def at_most_these(self) -> ToolRules:
        """The same rules where they only take tools away, whoever wrote them."""
        return replace(self, allowed=None, at_most=_common(self.allowed, self.at_most))

    def as_json(self) -> dict[str, JsonValue]:
        """A form that ohm.json may have."""
        allowed = () if self.unclear else _common(self.allowed, self.at_most)
        granted = [name for name in allowed or () if not has_tool(self.denied, name)]
        lists: dict[str, JsonValue] = {} if allowed is None else {"allow": [*granted]}
        return {**lists, "deny": [*self.denied]}

    @staticmethod
    def json_schema() -> dict[str, JsonValue]:
        """JSON Schema of what ohm.json may have."""
        names: dict[str, JsonValue] = {"type": "array", "items": {"type": "string"}}
        exactly = (
            "Exactly these child tools, instead of the profile's (of an agent profile at most these); or a list alone."
        )
        return {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {
                        "allow": {**names, "description": exactly},
                        "deny": {**names, "default": [], "description": "Not these child tools."},
                    },
                    "additionalProperties": False,
                },
                names,
            ]
        }


def read_tools(layer: Layer) -> tuple[Mapping[str, ToolRules], tuple[Diagnostic, ...]]:
    """The rules of a layer by folded id, and what is wrong with them."""
    rules: dict[str, ToolRules] = {}
    wrong: list[Diagnostic] = []
    for path, value in _written(layer):
        profile_id = fold_id(path[-2])
        one = _read(layer, path, value)
        if one.unclear:
            wrong.append(layer.place(path).diagnostic(one.unclear, severity="error"))
            one = replace(one, unclear=f"{layer.place(path)}: {one.unclear}")
        rules[profile_id] = _merged(rules.get(profile_id, ToolRules()), one)
    return rules, tuple(wrong)


def merge_tools(layers: Iterable[Mapping[str, ToolRules]]) -> dict[str, ToolRules]:
    """The rules of several files, in reading order, as one map."""
    layers = tuple(layers)
    ids = dict.fromkeys(profile_id for layer in layers for profile_id in layer)
    return {
        profile_id: reduce(_merged, (layer[profile_id] for layer in layers if profile_id in layer))
        for profile_id in ids
    }


def not_granted(layer: Layer, rules: Mapping[str, ToolRules], merged: Mapping[str, ToolRules]) -> Iterator[Diagnostic]:
    """Names the tools that a project lists and that the user's file withholds."""
    for path, _ in _written(layer):
        own, stands = rules[fold_id(path[-2])], merged[fold_id(path[-2])]
        if own.at_most is None or own.unclear:
            continue
        names = [
            f"'{name}'" for name in own.at_most if not has_tool(stands.allowed, name) or has_tool(stands.denied, name)
        ]
        if names:
            place = layer.place(path)
            yield place.diagnostic(
                f"'{place.key}' lists {', '.join(names)}, which the user's file does not allow; it is not given."
            )


def without_tools(layer: Layer) -> Layer:
    """The layer without everything that `read_tools` reads."""
    taken = {path for path, _ in _written(layer)}

    def rest(values: Mapping[str, JsonValue], at: KeyPath) -> dict[str, JsonValue]:
        return {
            key: rest(value, (*at, key)) if isinstance(value, dict) and len(at) < 3 else value
            for key, value in values.items()
            if (*at, key) not in taken
        }

    section = layer.values.get("subagents")
    if not isinstance(section, dict) or not taken:
        return layer
    return replace(layer, values={**layer.values, "subagents": rest(section, ("subagents",))})


def _written(layer: Layer) -> Iterator[tuple[KeyPath, JsonValue]]:
    """What each entry says about tools: the long form, then the short form, which wins. A near miss is meant so."""
    section = layer.values.get("subagents")
    if not isinstance(section, dict):
        return
    profiles = section.get("profiles")
    sources = [(("subagents", "profiles"), profiles)] if isinstance(profiles, dict) else []
    for prefix, entries in (*sources, (("subagents",), section)):
        for name, entry in entries.items():
            if isinstance(entry, dict) and (len(prefix) == 2 or name not in _SETTINGS):
                for key, value in entry.items():
                    if is_like(key, _LIKE_TOOLS):
                        yield (*prefix, name, key), value


_SETTINGS: Final = frozenset({"profiles", "permissions", "backends", "limits", "loop", "budget", "maxRequests"})
"""Keys of `subagents` that hold an object and are no subagent's."""


def is_like(key: str, names: Iterable[str]) -> bool:
    """Whether `key` is one of the `names`, or one of them misspelt."""
    return bool(get_close_matches(fold_id(key), names, n=1, cutoff=_LIKENESS))


def _read(layer: Layer, path: KeyPath, value: JsonValue) -> ToolRules:
    place = layer.place(path)

    def unclear(fact: str, advice: str = _FORM) -> ToolRules:
        return ToolRules(unclear=f"'{place.key}' {fact}; the subagent does not run until it is corrected. {advice}")

    if path[-1] != KEY:
        return unclear("is not a known key", f"Did you mean '{KEY}'?")
    if any(one[: len(path)] == path for one in layer.repeated):
        return unclear("is given twice", "Give it once.")
    lists = {"allow": value} if isinstance(value, list) else value
    if lists is None:
        return ToolRules()
    if not isinstance(lists, dict):
        return unclear(f"is {shown(value)}")
    if unknown := sorted(lists.keys() - {"allow", "deny"}):
        return unclear(f"has the unknown key '{unknown[0]}'")
    allowed = None if lists.get("allow") is None else _names(lists["allow"])
    denied = _names(lists.get("deny", []))
    if denied is None or (allowed is None and lists.get("allow") is not None):
        return unclear(f"is {shown(value)}")
    both = [name for name in denied if has_tool(allowed or (), name)]
    if both:
        return unclear(f"both allows and denies the tool '{both[0]}'", "Name each tool in one of the two lists.")
    if layer.kind == "project":
        return ToolRules(at_most=allowed, denied=denied, source=str(place))
    return ToolRules(allowed=allowed, denied=denied, source=str(place))


def _names(value: JsonValue) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        return None
    names = tuple(name.strip() for name in value if isinstance(name, str) and name.strip())
    return names if len(names) == len(value) else None


def _merged(lower: ToolRules, upper: ToolRules) -> ToolRules:
    return ToolRules(
        allowed=lower.allowed if upper.allowed is None else upper.allowed,
        denied=tuple(dict.fromkeys((*lower.denied, *upper.denied))),
        at_most=_common(lower.at_most, upper.at_most),
        source=upper.source or lower.source,
        unclear=lower.unclear or upper.unclear,
    )


def _common(first: tuple[str, ...] | None, second: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if first is None or second is None:
        return second if first is None else first
    return tuple(name for name in first if has_tool(second, name))
