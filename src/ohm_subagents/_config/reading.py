"""One layer, ready to be folded: its rules apart, its other values checked, and everything that is wrong named."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ohm_subagents._config.accept import keep_valid
from ohm_subagents._config.budgets import read_budgets
from ohm_subagents._config.entries import SHOWN_BY, unified
from ohm_subagents._config.layers import object_at, value_at
from ohm_subagents._config.reserved import without_effect
from ohm_subagents._config.rules import read_rules
from ohm_subagents._config.sandbox_limits import read_sandbox_limits
from ohm_subagents._config.schema import OhmConfig
from ohm_subagents._config.switches import close_unclear_switches
from ohm_subagents._config.tool_lists import read_tools
from ohm_subagents._config.values import ModelName, is_model_name, or_a_name, quoted_value
from ohm_subagents._records import dataclass
from ohm_subagents.contract.model_pattern import FORM, parse_model_pattern
from ohm_subagents.contract.result import Err
from ohm_subagents.contract.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

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
    """The fault that keeps subagents from running, by folded id; `EVERY` is all of them."""
    diagnostics: tuple[Diagnostic, ...]
    """The faults in it."""


def read(source: Layer, menu: Collection[str] = ()) -> Reading:
    """Take a layer apart and check it. A value that is wrong is dropped; one that closes something closes it.

    `menu` has the names of models of all layers.
    """
    rest, rules, wrong_rules = read_rules(source)
    rest, tools, wrong_tools = read_tools(rest)
    rest, unclear_budgets, wrong_budgets = read_budgets(rest)
    rest, unclear_limits, wrong_limits = read_sandbox_limits(rest)
    rest, wrong_switches = close_unclear_switches(rest)
    rest, wrong_entries = unified(rest)
    values, wrong_values = keep_valid(OhmConfig, rest.values, rest.place, complete=False, shown_by=SHOWN_BY)
    checked = replace(rest, values=values)
    return Reading(
        source=source,
        checked=checked,
        rules=rules,
        tools=tools,
        unclear={**unclear_limits, **unclear_budgets},
        diagnostics=(
            *_repeated(source),
            *wrong_rules,
            *wrong_tools,
            *wrong_budgets,
            *wrong_limits,
            *wrong_switches,
            *wrong_entries,
            *unclear_models(rest, menu).values(),
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


def unclear_models(layer: Layer, menu: Collection[str]) -> Mapping[KeyPath, Diagnostic]:
    """Name each value that is no model: it keeps the subagent from running on another one. Null says nothing."""
    found: dict[KeyPath, Diagnostic] = {}
    for path, who in _model_holders(layer):
        value = value_at(layer.values, path)
        is_model = isinstance(value, str) and not isinstance(parse_model_pattern(value), Err)
        if value is None or is_model or is_model_name(value, menu):
            continue
        place = layer.place(path)
        meant = f" {did_you_mean(value, menu)}".rstrip() if isinstance(value, str) else ""
        fault = f"'{place.key}' is {quoted_value(value)}, but has to be {FORM}{or_a_name(menu)}"
        message = f"{fault}; it keeps {who} from running until corrected.{meant}"
        found[path] = place.diagnostic(message, severity="error")
    return found


def named_models(layer: Layer, menu: Collection[str]) -> Mapping[KeyPath, ModelName]:
    """Return the values that are names of models: of the menu, or `inherit`."""
    values = {path: value_at(layer.values, path) for path, _ in _model_holders(layer)}
    return {path: ModelName(str(value).strip()) for path, value in values.items() if is_model_name(value, menu)}


def _model_holders(layer: Layer) -> Iterator[tuple[KeyPath, str]]:
    """Yield each place of a model, and whose it is."""
    yield ("subagents", "model"), "every subagent without a model of its own"
    for name in object_at(layer.values, ("subagents", "profiles")):
        yield ("subagents", "profiles", name, "model"), "the subagent"
