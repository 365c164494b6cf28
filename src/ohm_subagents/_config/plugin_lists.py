"""`loadPlugins` and `blockPlugins`: a list that nobody can understand loads no plugin."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ohm_subagents._config.values import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents._config.layers import Layer
    from ohm_subagents.contract.diagnostics import Diagnostic

LOAD: Final = "loadPlugins"
BLOCK: Final = "blockPlugins"


def understood(layer: Layer) -> tuple[Layer, Iterable[Diagnostic]]:
    """The layer with no plugin to load where one of its lists is no list; null says nothing."""
    wrong = [
        key
        for key in (LOAD, BLOCK)
        if not isinstance(layer.values.get(key), list | str | None) or (key,) in layer.repeated
    ]
    if not wrong:
        return layer, ()
    values = {key: value for key, value in layer.values.items() if key not in wrong}
    return replace(layer, values={**values, LOAD: []}), tuple(
        layer.place((key,)).diagnostic(
            f"'{key}' is {shown(layer.values[key])}, but has to be a list of plugins, given once; no plugin is loaded "
            "until it is corrected."
        )
        for key in wrong
    )
