"""The menu of models (`subagents.models`): names for models, each with those that are asked when it fails."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Final, TypeAlias

from pydantic import BeforeValidator, Field, JsonValue, model_validator

from ohm_subagents._config.layers import Layer, object_at
from ohm_subagents._config.merge import INTERSECT_UNLESS_TRUSTED, LOWER_UNLESS_TRUSTED
from ohm_subagents._config.section import Section
from ohm_subagents._config.values import Line, Model, WholeNumber, expected, text_of
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.model_pattern import FORM, ModelPattern, Thinking, parse_model_pattern
from ohm_subagents.contract.model_route import FAILURE_CLASSES, INHERIT, FailureClass
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.contract.spelling import did_you_mean

MENU: Final = ("subagents", "models")
"""The place of the menu in ohm.json."""
_NAME: Final = rf"(?!{INHERIT}$)\w[\w.-]*"
MenuName: TypeAlias = Annotated[
    str,
    BeforeValidator(text_of(_NAME, f"a name of letters, digits, '.', '-' and '_', other than '{INHERIT}'")),
]


_NO_MODEL: Final = f"{FORM}; a name stands for no other name, which belongs in a 'fallback'"


class MenuEntry(Section):
    """`"provider/model"` is short for `{"model": "provider/model"}`."""

    model: Model = Field(description="The model that this name stands for.")
    thinking: Thinking | None = Field(default=None, description="Its thinking level, in place of one behind the model.")
    fallback: tuple[Line, ...] = Field(
        default=(), description="Models, or names of the menu, that are asked in this order when it fails."
    )

    @model_validator(mode="before")
    @classmethod
    def _from_model(cls, value: JsonValue) -> JsonValue:
        entry: JsonValue = {"model": value} if isinstance(value, str) else value
        model = entry.get("model") if isinstance(entry, dict) else None
        if isinstance(model, str) and isinstance(parse_model_pattern(model), Err):
            raise expected(_NO_MODEL)  # of the entry as a whole, which is nothing without its model
        return entry

    @property
    def pattern(self) -> ModelPattern:
        """Return the model with its thinking level."""
        return replace(self.model, thinking=self.thinking or self.model.thinking)


class ModelFallback(Section):
    """The failures after which the next model of a list is asked."""

    on: Annotated[tuple[FailureClass, ...], INTERSECT_UNLESS_TRUSTED] = Field(
        default=FAILURE_CLASSES,
        description="The failures of a model after which the next of its `fallback` is asked: `quota`, `overload` (the "
        "provider asks to slow down, after the retries of `requestRetries`), `unavailable` (5xx, no connection, no "
        "answer in time), `authentication` (the key is refused or missing).",
    )
    cool_down_ms: Annotated[WholeNumber, LOWER_UNLESS_TRUSTED] = Field(
        default=60_000,
        description="Time for which no task asks a model that has failed so, if there is another one, in milliseconds.",
    )


def menu_names(layer: Layer) -> Iterator[str]:
    """Yield the names of a layer's menu that stand for a model."""
    for name, entry in object_at(layer.values, MENU).items():
        model = entry.get("model") if isinstance(entry, dict) else entry
        is_model = isinstance(model, str) and isinstance(parse_model_pattern(model), Ok)
        if is_model and re.fullmatch(_NAME, name.strip()):
            yield name


def expanded(menu: Mapping[str, MenuEntry]) -> Mapping[str, tuple[ModelPattern, ...]]:
    """Return the models of each name in the order in which they are asked, each once, also where names form a cycle."""
    return {name: tuple(dict.fromkeys(_models(name, menu, set()))) for name in menu}


def _models(name: str, menu: Mapping[str, MenuEntry], seen: set[str]) -> Iterator[ModelPattern]:
    entry = menu.get(name)
    if entry is None or name in seen:
        return
    seen.add(name)
    yield entry.pattern
    for written in entry.fallback:
        match parse_model_pattern(written):
            case Ok(pattern):
                yield pattern
            case Err():
                yield from _models(written, menu, seen)


def menu_faults(layer: Layer) -> Iterator[Diagnostic]:
    """Name each fallback that is no model and no name of the menu, and each that leads back to its own name."""
    menu = object_at(layer.values, MENU)
    for name in menu:
        place = layer.place((*MENU, name, "fallback"))
        for written in _fallback(menu, name):
            if written not in menu and isinstance(parse_model_pattern(written), Err):
                advice = did_you_mean(written, menu) or f"A model is written as {FORM}."
                message = f"'{place.key}' names '{written}', which is no name of subagents.models and no model"
                yield place.diagnostic(f"{message}; it is not asked. {advice}".rstrip())
            elif written == name or _leads(written, name, menu, set()):
                yield place.diagnostic(
                    f"'{place.key}' names '{written}', which leads back to '{name}'; each model is asked once."
                )


def _leads(start: str, end: str, menu: Mapping[str, JsonValue], seen: set[str]) -> bool:
    """Return True if the fallbacks of one name lead to another."""
    if start in seen:
        return False
    seen.add(start)
    return any(one == end or _leads(one, end, menu, seen) for one in _fallback(menu, start))


def _fallback(menu: Mapping[str, JsonValue], name: str) -> list[str]:
    entry = menu.get(name)
    fallback = entry.get("fallback") if isinstance(entry, dict) else None
    return [one for one in fallback if isinstance(one, str)] if isinstance(fallback, list) else []
