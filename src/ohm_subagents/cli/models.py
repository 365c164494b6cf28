"""`ohm models`: the menu of models, and the models that run where nothing names one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents.commands import SUCCESS, print_text
from ohm_subagents.contract.spelling import nearest_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents import Inspection, Ohm
    from ohm_subagents.config import LoadedConfig
    from ohm_subagents.contract import ModelPattern
    from ohm_subagents.plugin import ModelChoice

MENU: Final = "Names of models"
DEFAULTS: Final = "Default models, first match wins"
OK: Final = "✓"
MISSING: Final = "○"


def print_models(ohm: Ohm, loaded: LoadedConfig) -> int:
    """Print the names of `subagents.models` with what they stand for, then the default models; return the exit code."""
    parts = ohm.inspect()
    menu = [*menu_lines(parts, loaded)] or [f"{MISSING} none: give subagents.models in ohm.json"]
    found = {MENU: menu, DEFAULTS: [*default_lines(parts)]}
    print_text("\n\n".join("\n  ".join([f"{name}:", *lines]) for name, lines in found.items()))
    return SUCCESS


def menu_lines(parts: Inspection, loaded: LoadedConfig) -> Iterator[str]:
    """Yield a line for each name: its models in the order in which they are asked, and what each lacks."""
    for name, models in loaded.config.subagents.menu.items():
        lacking = {model: _lacking(model, parts.models) for model in models}
        shown = (f"{model} ({why})" if why else f"{model}" for model, why in lacking.items())
        is_usable = not all(lacking.values())
        yield f"{OK if is_usable else MISSING} {name}: {', then '.join(shown)}"


def default_lines(parts: Inspection) -> Iterator[str]:
    """Yield a line for the default model of each provider."""
    for spec in parts.models.specs:
        if spec.default_model is not None:
            lacking = parts.models.lacks(spec)
            why = f": needs {lacking}" if lacking else ""
            yield f"{MISSING if lacking else OK} {spec.provider}/{spec.default_model}{why}"


def _lacking(model: ModelPattern, models: ModelChoice) -> str:
    """Return what `interactive-sdk` lacks to ask a model; empty for nothing."""
    spec = models.spec_of(model)
    if spec is None:
        near = nearest_name(model.provider, [one.provider for one in models.specs])
        return "no plugin offers its provider" + ("" if near is None else f"; did you mean '{near}'?")
    lacking = models.lacks(spec)
    return f"needs {lacking}" if lacking else ""
