"""`subagents.<id>.tools` of one file. A subagent whose tools cannot be understood does not run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ohm_subagents._config.entries import of_entries
from ohm_subagents._config.layers import without_values
from ohm_subagents._config.tool_rules import ToolRules, has_tool, merge_tools
from ohm_subagents._config.values import quoted_value
from ohm_subagents.contract.call_rules import split_calls
from ohm_subagents.contract.profile import fold_id
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from ohm_subagents._config.jsonc import KeyPath
    from ohm_subagents._config.layers import Layer
    from ohm_subagents.contract.diagnostics import Diagnostic

KEY: Final = "tools"
_LIKE_TOOLS: Final = (KEY, "allow", "deny", "permissions")
_FORM: Final = 'It has to be a list of tools, or an object with the lists "allow", "ask" and "deny".'


def read_tools(layer: Layer) -> tuple[Layer, Mapping[str, ToolRules], tuple[Diagnostic, ...]]:
    """Take the rules out of a layer; return the rest, the rules by folded id, and the faults."""
    found: list[Mapping[str, ToolRules]] = []
    wrong: list[Diagnostic] = []
    written = dict(of_entries(layer, _LIKE_TOOLS))
    for path, value in written.items():
        one = _read(layer, path, value)
        if one.unclear:
            wrong.append(layer.place(path).diagnostic(one.unclear, severity="error"))
            one = replace(one, unclear=f"{layer.place(path)}: {one.unclear}")
        found.append({fold_id(path[-2]): one})
    return without_values(layer, written), merge_tools(found), tuple(wrong)


def not_granted(layer: Layer, rules: Mapping[str, ToolRules], merged: Mapping[str, ToolRules]) -> Iterator[Diagnostic]:
    """Name the tools that a project lists and that the user's file withholds."""
    for path, _ in of_entries(layer, _LIKE_TOOLS):
        own, in_force = rules[fold_id(path[-2])], merged[fold_id(path[-2])]
        if own.at_most is None or own.unclear:
            continue
        names = [
            f"'{name}'"
            for name in own.at_most
            if not has_tool(in_force.allowed, name) or has_tool(in_force.denied, name)
        ]
        if names:
            place = layer.place(path)
            yield place.diagnostic(
                f"'{place.key}' lists {', '.join(names)}, which the user's file does not allow; it is not given."
            )


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
        return unclear(f"is {quoted_value(value)}")
    if unknown := sorted(lists.keys() - {"allow", "ask", "deny"}):
        return unclear(f"has the unknown key '{unknown[0]}'")
    allowed = None if lists.get("allow") is None else _names(lists["allow"])
    asked, denied = _names(lists.get("ask", [])), _names(lists.get("deny", []))
    if asked is None or denied is None or (allowed is None and lists.get("allow") is not None):
        return unclear(f"is {quoted_value(value)}")
    found = _rules(layer, str(place), allowed, denied, asked)
    return unclear(*found.err_value) if isinstance(found, Err) else found.ok_value


def _rules(
    layer: Layer, source: str, allowed: tuple[str, ...] | None, denied: tuple[str, ...], asked: tuple[str, ...]
) -> Result[ToolRules, tuple[str, str]]:
    """Return the rules of three lists, or the fact and the advice of what is wrong with them."""
    split = split_calls(allowed, denied, asked, source=source)
    if isinstance(split, Err):
        return Err((f"has a rule that cannot be kept: {split.err_value}", _FORM))
    lists = split.ok_value
    allowed, denied = lists.allowed, lists.denied
    both = [name for name in denied if has_tool(allowed or (), name)]
    if both:
        return Err((f"both allows and denies the tool '{both[0]}'", "Name each tool in one of the two lists."))
    if layer.kind == "project":
        return Ok(ToolRules(at_most=allowed, denied=denied, call_rules=lists.rules, source=source))
    return Ok(
        ToolRules(
            allowed=allowed,
            denied=denied,
            allowed_rules=tuple(replace(one, ask=(), deny=()) for one in lists.rules if one.allow is not None),
            call_rules=tuple(replace(one, allow=None) for one in lists.rules if one.ask or one.deny),
            source=source,
        )
    )


def _names(value: JsonValue) -> tuple[str, ...] | None:
    if not isinstance(value, list):
        return None
    names = tuple(name.strip() for name in value if isinstance(name, str) and name.strip())
    return names if len(names) == len(value) else None
