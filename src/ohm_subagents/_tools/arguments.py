"""Sentences about wrong arguments of tools and wrong options of suites."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from ohm_subagents._config.accept import meant_key
from ohm_subagents.contract.text import encodable
from ohm_subagents.contract.truncation import shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue
    from pydantic_core import ErrorDetails

    from ohm_subagents._plugins.backends.interface import OptionsT

ASYNC: Final = "Return the task ids at once; the work goes on in the background, and op wait of task gives the answers."
"""The description of the argument `async`."""
_WORDS: Final[Mapping[str, str]] = {
    "string_type": "a text",
    "tuple_type": "a list",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
}
_OWN: Final = "not_"
"""The prefix of the error types of a suite's own checks, whose message says what is allowed."""


def explain_error(error: ErrorDetails, *, allowed: Mapping[str, str], otherwise: str = "a text") -> str:
    """Write `is <value>; allowed: <what>.`, or that it is missing; `allowed` maps types of pydantic errors to texts."""
    if error["type"] == "missing":
        return "is missing; it is required."
    custom = error["msg"] if error["type"].startswith(_OWN) else otherwise
    return f"is {short_json(error['input'])}; allowed: {allowed.get(error['type'], custom)}."


def unknown_key(key: str) -> str:
    """Say that a key is unknown."""
    return f"Ignored unknown key '{key}'."


def overridden_key(key: str, *, by: str) -> str:
    """Say that another key counts in place of this one."""
    return f"Ignored '{key}', because '{by}' counts."


def short_json(value: object) -> str:
    """Write a value as JSON, cut at 60 characters."""
    try:
        return shortened(encodable(json.dumps(value, ensure_ascii=False, default=str)), 60)
    except ValueError:  # a number with more digits than Python writes out
        return "too long to show"


def whole_number(value: object) -> object:
    """Return a whole number, written as `10` or `10.0`, or None. Raises the error type `not_whole`."""
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    if value is None or (isinstance(number, int) and not isinstance(number, bool)):
        return number
    raise PydanticCustomError("not_whole", "a whole number")


class WrongOptionError(ValueError):
    """An option is wrong; the message is one sentence, or two with advice. `key` is the dotted key of the setting."""

    def __init__(self, message: str, *, key: str = "") -> None:
        super().__init__(message)
        self.key = key


def suite_options(shape: type[OptionsT], given: Mapping[str, JsonValue], *, suite: str) -> OptionsT:
    """Validate the options. Raises `WrongOptionError` about the first that is wrong."""
    try:
        return shape.model_validate(given)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False)[0]
        key = ".".join(("suiteOptions", suite, *map(str, first["loc"])))
        if first["type"] == "extra_forbidden":
            known = [field.alias or name for name, field in shape.model_fields.items()]
            advice = meant_key(str(first["loc"][-1]), known)
            fact = f"is not a known key. {advice}"
        else:
            fact = explain_error(first, allowed=_WORDS, otherwise=first["msg"].removeprefix("Input should be "))
        wrong = f"'{key}' {fact}"
        raise WrongOptionError(wrong, key=key) from None
