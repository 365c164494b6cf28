"""One layer, ready to be folded: its rules apart, its other values checked, and everything that is wrong named."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ohm_subagents._config.accept import keep_valid
from ohm_subagents._config.budgets import read_budgets
from ohm_subagents._config.entries import SHOWN_BY, unified
from ohm_subagents._config.layers import object_at
from ohm_subagents._config.reserved import without_effect
from ohm_subagents._config.rules import read_rules
from ohm_subagents._config.schema import OhmConfig
from ohm_subagents._config.switches import close_unclear_switches
from ohm_subagents._config.tool_lists import read_tools
from ohm_subagents._config.values import quoted_value
from ohm_subagents.contract.model_pattern import FORM, parse_model_pattern
from ohm_subagents.contract.result import Err

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ohm_subagents._config.jsonc import KeyPath
    from ohm_subagents._config.layers import Layer
    from ohm_subagents._config.permissions import Rules
    from ohm_subagents._config.tool_rules import ToolRules
    from ohm_subagents.contract.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A layer whose values are sound."""

    source: Layer
    """The layer as it is written."""
    checked: Layer
    """The values to fold, each entry of a subagent under `subagents.profiles.<folded id>`."""
    rules: Rules
    """`subagents.permissions`."""
    tools: Mapping[str, ToolRules]
    """`subagents.<id>.tools`, by folded id."""
    unclear: Mapping[str, str]
    """The fault of each budget by folded id; `EVERY` is all subagents."""
    diagnostics: tuple[Diagnostic, ...]
    """The faults in it."""


def read(source: Layer) -> Reading:
    """Take a layer apart and check it. A value that is wrong is dropped; one that closes something closes it."""
    rest, rules, wrong_rules = read_rules(source)
    rest, tools, wrong_tools = read_tools(rest)
    rest, unclear, wrong_budgets = read_budgets(rest)
    rest, wrong_switches = close_unclear_switches(rest)
    rest, wrong_entries = unified(rest)
    values, wrong_values = keep_valid(OhmConfig, rest.values, rest.place, complete=False, shown_by=SHOWN_BY)
    checked = replace(rest, values=values)
    return Reading(
        source=source,
        checked=checked,
        rules=rules,
        tools=tools,
        unclear=unclear,
        diagnostics=(
            *_repeated(source),
            *wrong_rules,
            *wrong_tools,
            *wrong_budgets,
            *wrong_switches,
            *wrong_entries,
            *unclear_models(rest).values(),
            *wrong_values,
            *without_effect(checked, OhmConfig),
        ),
    )


def _repeated(layer: Layer) -> Iterator[Diagnostic]:
    for path in layer.repeated:
        place = layer.place(path)
        yield place.diagnostic(
            f"'{place.key}' is given twice; objects are merged, of other values the last one counts."
        )


def unclear_models(layer: Layer) -> Mapping[KeyPath, Diagnostic]:
    """Name each value that is no model: it keeps the subagent from running on another one. Null says nothing."""
    found: dict[KeyPath, Diagnostic] = {}
    entries = object_at(layer.values, ("subagents", "profiles"))
    holders: list[tuple[KeyPath, str]] = [(("subagents",), "every subagent without a model of its own")]
    holders += [(("subagents", "profiles", name), "the subagent") for name in entries]
    for path, who in holders:
        value = object_at(layer.values, path).get("model")
        if value is None or (isinstance(value, str) and not isinstance(parse_model_pattern(value), Err)):
            continue
        place = layer.place((*path, "model"))
        said = quoted_value(value)
        message = f"'{place.key}' is {said}, but has to be {FORM}; it keeps {who} from running until corrected."
        found[*path, "model"] = place.diagnostic(message, severity="error")
    return found
