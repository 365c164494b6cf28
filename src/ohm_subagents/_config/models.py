"""`subagents.model` and `subagents.<id>.model`: one that is no model keeps the subagent from running on another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._config.values import shown
from ohm_subagents.contract.model_pattern import FORM, parse_model_pattern
from ohm_subagents.contract.result import Err

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from ohm_subagents._config.jsonc import KeyPath
    from ohm_subagents._config.layers import Layer
    from ohm_subagents.contract.diagnostics import Diagnostic

_KEY = "model"


def unclear_models(layer: Layer) -> Iterator[Diagnostic]:
    """Names each model of a layer, its entries folded, that is none."""
    for path, value in _written(layer):
        if isinstance(value, str) and not isinstance(parse_model_pattern(value), Err):
            continue
        who = "every subagent without a model of its own" if len(path) == 2 else "the subagent"
        place = layer.place(path)
        told = f"'{place.key}' is {shown(value)}, but has to be {FORM}; it keeps {who} from running until corrected."
        yield place.diagnostic(told, severity="error")


def _written(layer: Layer) -> Iterator[tuple[KeyPath, JsonValue]]:
    """Every model that is given; null says nothing."""
    section = layer.values.get("subagents")
    if not isinstance(section, dict):
        return
    if section.get(_KEY) is not None:
        yield ("subagents", _KEY), section[_KEY]
    profiles = section.get("profiles")
    for name, entry in profiles.items() if isinstance(profiles, dict) else ():
        if isinstance(entry, dict) and entry.get(_KEY) is not None:
            yield ("subagents", "profiles", name, _KEY), entry[_KEY]
