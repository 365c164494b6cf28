"""The field types of ohm.json: each says in the words of a diagnostic what it accepts."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias, cast

from pydantic import (
    BeforeValidator,
    InstanceOf,
    JsonValue,
    PlainSerializer,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from ohm_subagents._records import dataclass
from ohm_subagents.contract.model_pattern import FORM as MODEL_FORM
from ohm_subagents.contract.model_pattern import ModelPattern, parse_model_pattern
from ohm_subagents.contract.model_route import INHERIT
from ohm_subagents.contract.result import Err
from ohm_subagents.contract.truncation import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

MAX_INTEGER: Final = 2**53 - 1
_SHOWN: Final = 60
SECRET: Final = "ohm_secret"  # noqa: S105  the type of an error whose value must not be shown
_DECIMAL: Final = re.compile(r"\s*[0-9]{1,16}(\.[0-9]{1,18})?\s*", re.ASCII)
_ON: Final = frozenset({"1", "true", "yes", "on", "enabled"})
_OFF: Final = frozenset({"0", "false", "no", "off", "disabled"})


def expected(what: str, *, kind: str = "ohm") -> PydanticCustomError:
    """Return the error of a value that should have been `what`."""
    return PydanticCustomError(kind, "{what}", {"what": what})  # pyright: ignore[reportArgumentType] it wants a literal


def parse_switch(value: object) -> bool | None:
    """Return what true, false and the words for them mean; None for anything else."""
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    return True if word in _ON else False if word in _OFF else None


def _switch(value: object) -> bool:
    meaning = parse_switch(value)
    if meaning is None:
        raise expected("true or false")
    return meaning


def _short_switch(value: object) -> bool:
    """Read a switch for which the contract knows 1, true, yes and on, but not `enabled`."""
    return _switch("" if isinstance(value, str) and value.strip().lower() in {"enabled", "disabled"} else value)


def _flag(value: object) -> bool:
    """Read a switch for which the contract knows these words only."""
    word = value.strip().lower() if isinstance(value, str) else value
    if not isinstance(word, bool) and word not in {"1", "true", "0", "false"}:
        raise expected("1, true, 0 or false")
    return word in {True, "1", "true"}


def _integer(least: int, what: str) -> Callable[[object], int]:
    def read(value: object) -> int:
        whole = int(value) if isinstance(value, float) and value.is_integer() else value
        if isinstance(whole, bool) or not isinstance(whole, int) or not least <= whole <= MAX_INTEGER:
            raise expected(what)
        return whole

    return read


def text_of(pattern: str, what: str, *, kind: str = "ohm") -> Callable[[object], str]:
    """Return what reads a text that is, without blanks around it, of this form; `what` says in words which."""

    def read(value: object) -> str:
        text = value.strip() if isinstance(value, str) else ""
        if not re.fullmatch(pattern, text):
            raise expected(what, kind=kind)
        return text

    return read


def _amount(value: object) -> Decimal:
    """Read a number or a decimal text, which is exact."""
    if isinstance(value, Decimal):
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    text = str(value) if is_number else value.strip() if isinstance(value, str) and _DECIMAL.fullmatch(value) else ""
    amount = Decimal(text) if text else Decimal(0)
    if not amount.is_finite() or not 0 < amount <= MAX_INTEGER:
        raise expected("a number or a decimal text above 0")
    return amount


_line = text_of(r"[\s\S]+", "a text that is not blank")


def _one_or_more(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _plugin_names(value: object) -> object:
    """Split texts at commas, as an environment variable is read; `none` is the name of no plugin."""
    written = _one_or_more(value)
    if not isinstance(written, list | tuple):
        return written
    parts = (part for one in cast("list[object]", written) for part in _separated(one))
    return [one for one in parts if not isinstance(one, str) or one.strip().lower() != "none"]


def _separated(value: object) -> list[object]:
    """Return the parts of a text that are not blank; anything else, and a blank text, as it is."""
    named: list[object] = [part for part in value.split(",") if part.strip()] if isinstance(value, str) else []
    return named or [value]


def _all_or_names(value: object) -> object:
    names = _one_or_more(value)
    if isinstance(names, bool):
        return names
    if not isinstance(names, list | tuple):
        raise expected("true, false or a list of names")
    return tuple(_line(name) for name in cast("list[object]", names))


@dataclass(frozen=True, slots=True)
class UnclearModel:
    """A text in place of a model: a subagent that it is for does not run on another one."""

    written: str
    """The text, as it is written."""
    why: str = ""
    """The fault, with the place of the text; empty before the files are folded."""

    def __str__(self) -> str:
        return self.written


@dataclass(frozen=True, slots=True)
class ModelName:
    """A name of the menu (`subagents.models`), or `inherit`."""

    name: str
    """The name, as it is written."""

    def __str__(self) -> str:
        return self.name


def _model(value: object) -> ModelPattern:
    meant = _model_if_any(value)
    if not isinstance(meant, ModelPattern):
        raise expected(MODEL_FORM)
    return meant


def _model_if_any(value: object) -> ModelPattern | ModelName | UnclearModel:
    if isinstance(value, ModelPattern | ModelName | UnclearModel):
        return value
    parsed = parse_model_pattern(value) if isinstance(value, str) else None
    if parsed is None or isinstance(parsed, Err):
        return UnclearModel(value if isinstance(value, str) else quoted_value(value))
    return parsed.ok_value


Flag: TypeAlias = Annotated[bool, BeforeValidator(_flag)]
Switch: TypeAlias = Annotated[bool, BeforeValidator(_switch)]
ShortSwitch: TypeAlias = Annotated[bool, BeforeValidator(_short_switch)]
PositiveInt: TypeAlias = Annotated[
    int,
    BeforeValidator(_integer(1, "a positive integer")),
    WithJsonSchema({"type": "integer", "minimum": 1}),
]
WholeNumber: TypeAlias = Annotated[
    int,
    BeforeValidator(_integer(0, "an integer, 0 or more")),
    WithJsonSchema({"type": "integer", "minimum": 0}),
]
Amount: TypeAlias = Annotated[
    Decimal,
    BeforeValidator(_amount),
    PlainSerializer(lambda amount: f"{amount:f}", return_type=str),
    WithJsonSchema(
        {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?$"}]}
    ),
]
"""An amount of money, kept exactly and shown as text."""
Line: TypeAlias = Annotated[str, BeforeValidator(_line)]
Key: TypeAlias = Annotated[str, BeforeValidator(text_of(r"[\s\S]+", "a text that is not blank", kind=SECRET))]
"""A key, or the place of one; no part of it is ever shown."""
PluginNames: TypeAlias = Annotated[tuple[Line, ...], BeforeValidator(_plugin_names)]
"""Names of plugins, in a list or separated by commas; `none` names none."""
AllOrNames: TypeAlias = Annotated[
    bool | tuple[str, ...],
    PlainValidator(_all_or_names),
    PlainSerializer(lambda chosen: chosen if isinstance(chosen, bool) else list(chosen), return_type=JsonValue),
    WithJsonSchema({"type": ["boolean", "array"], "items": {"type": "string"}}),
]
"""True for all, false for none, else those of these names; a text is a list of one."""


def _model_or_name(value: object, info: ValidationInfo) -> ModelPattern | ModelName:
    """Read a model, or one of the names that the context of the validation has."""
    menu = cast("Mapping[str, Collection[str]]", info.context or {}).get("menu", ())
    meant = _model_if_any(value)
    if isinstance(meant, ModelPattern):
        return meant
    if is_model_name(value, menu):
        return ModelName(str(value).strip())
    allowed_here = f"{MODEL_FORM}{or_a_name(menu)}"
    raise expected(allowed_here)


def is_model_name(value: object, menu: Collection[str]) -> bool:
    """Return True for a name of the menu, and for `inherit`."""
    return isinstance(value, str) and (value.strip() in menu or value.strip() == INHERIT)


def or_a_name(menu: Collection[str]) -> str:
    """Return the names that may stand in place of a model, after what a model is; empty without a menu."""
    return f", or one of {', '.join(sorted(menu))}, {INHERIT}" if menu else ""


_MODEL_SCHEMA: Final = WithJsonSchema({"type": "string", "format": "<provider>/<model>[:<thinking>]"})
Model: TypeAlias = Annotated[ModelPattern, BeforeValidator(_model), PlainSerializer(str), _MODEL_SCHEMA]
ModelOrName: TypeAlias = Annotated[
    InstanceOf[ModelPattern] | InstanceOf[ModelName], BeforeValidator(_model_or_name), _MODEL_SCHEMA
]
"""A model, or a name of the menu; the names are `menu` of the context of the validation."""
ConfiguredModel: TypeAlias = Annotated[
    InstanceOf[ModelPattern] | InstanceOf[ModelName] | InstanceOf[UnclearModel],
    BeforeValidator(_model_if_any),
    PlainSerializer(str),
    _MODEL_SCHEMA,
]
"""A model, a name of the menu, or a text that is neither, which keeps a subagent from running on another one."""
WebAddress: TypeAlias = Annotated[
    str, BeforeValidator(text_of(r"https?://\S+", "an address that begins with http:// or https://"))
]
_VARIABLE: Final = "the name of an environment variable, never a key itself"
ServerPlace: TypeAlias = Annotated[
    str, BeforeValidator(text_of(r"auto|none|/.+", "'auto', 'none', or the absolute path of a socket"))
]
VariableName: TypeAlias = Annotated[str, BeforeValidator(text_of(r"[A-Za-z_][A-Za-z0-9_]*", _VARIABLE, kind=SECRET))]

_ALLOWED: Final[Mapping[str, str]] = {
    "string_too_short": "a text that is not empty",
    "model_type": "an object",
    "dict_type": "an object",
    "tuple_type": "a list",
    "string_type": "a text",
}


def allowed(error: ErrorDetails) -> str:
    """Return what a field accepts, by the error that it gave."""
    expected = error.get("ctx", {}).get("expected")
    return f"one of {expected}" if expected else _ALLOWED.get(error["type"], error["msg"])


def quoted_value(value: object) -> str:
    """Quote a bad value in a message: short, on one line. Only its beginning is read, however large it is."""
    try:
        text = repr(value[:_SHOWN]) if isinstance(value, str) else _beginning(value)
    except (TypeError, ValueError, RecursionError):  # YAML has keys and cycles that JSON has not
        text = f"a {type(value).__name__}"
    return shortened(text, _SHOWN)


def _beginning(value: object) -> str:
    text = ""
    for part in json.JSONEncoder(ensure_ascii=False, default=str).iterencode(value):
        text += part
        if len(text) > _SHOWN:
            break
    return text
