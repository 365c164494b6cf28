"""What is wrong with an argument, in words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from pydantic_core import PydanticCustomError

from ohm_subagents.contract.text import encodable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic_core import ErrorDetails

_OWN: Final = "not_"
"""How the types of a surface's own checks begin, whose message is what is allowed."""


def complaint(error: ErrorDetails, *, allowed: Mapping[str, str], otherwise: str = "a text") -> str:
    """`is <value>; allowed: <what>.`, or that it is missing. `allowed` goes by the type of a pydantic error."""
    if error["type"] == "missing":
        return "is missing; it is required."
    custom = error["msg"] if error["type"].startswith(_OWN) else otherwise
    return f"is {shown(error['input'])}; allowed: {allowed.get(error['type'], custom)}."


def unknown_key(key: str) -> str:
    """What is told of a key that nobody knows."""
    return f"Ignored unknown key '{key}'."


def outdone(key: str, *, by: str) -> str:
    """What is told of a key that another one stands in place of."""
    return f"Ignored '{key}', because '{by}' counts."


def shown(value: object) -> str:
    """A value as JSON, cut at 60 characters."""
    try:
        text = encodable(json.dumps(value, ensure_ascii=False, default=str))
    except ValueError:  # a number with more digits than Python writes out
        return "too long to show"
    return text if len(text) <= 60 else f"{text[:59]}…"


def whole(value: object) -> object:
    """A whole number is one that is written `10` or `10.0`; nothing stays nothing."""
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    if value is None or (isinstance(number, int) and not isinstance(number, bool)):
        return number
    raise PydanticCustomError("not_whole", "a whole number")
