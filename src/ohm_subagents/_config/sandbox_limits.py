"""A limit of the sandbox that cannot be understood: it is not known what may be used, so nothing runs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ohm_subagents._config.accept import keep_valid
from ohm_subagents._config.entries import SECTION
from ohm_subagents._config.layers import value_at, with_value, without_values
from ohm_subagents._config.sandbox import Sandboxing
from ohm_subagents._config.subagents import EVERY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from ohm_subagents._config.layers import Layer
    from ohm_subagents.contract.diagnostics import Diagnostic

_KEY: Final = "sandboxRules"
_REACH: Final = frozenset({"network", "read", "write"})
"""Without them a sandbox holds more: a fault of theirs opens nothing."""
_FATE: Final = "keeps every subagent from running until it is corrected"


def read_sandbox_limits(layer: Layer) -> tuple[Layer, Mapping[str, str], tuple[Diagnostic, ...]]:
    """Take each faulty limit out of `subagents.sandboxRules`; return the rest, why limits are unclear, and the faults.

    The reason is that of all subagents (`EVERY`). What may be reached is not looked at here, nor what a project's file
    says: no project sets any of it.
    """
    path = (SECTION, _KEY)
    written = value_at(layer.values, path)
    if written is None or layer.kind == "project":
        return layer, {}, ()
    reach: dict[str, JsonValue] = {}
    limits = written
    if isinstance(written, dict):
        reach = {key: value for key, value in written.items() if key in _REACH}
        limits = {key: value for key, value in written.items() if key not in _REACH}
    kept, wrong = keep_valid(
        Sandboxing, {_KEY: limits}, lambda at: layer.place((SECTION, *at)), complete=False, fate=_FATE
    )
    if not wrong:
        return layer, {}, ()
    rest, sound = without_values(layer, [path]), kept.get(_KEY)
    values = with_value(rest.values, path, {**sound, **reach}) if isinstance(sound, dict) else rest.values
    rest = replace(rest, values=values, places=layer.places)
    return rest, {EVERY: f"{wrong[0]}"}, tuple(replace(one, severity="error") for one in wrong)
