"""The JSON that `pi` writes, read with care: nothing in it is taken for granted, and nothing in it raises."""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from ohm_subagents.plugin import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Record: TypeAlias = Mapping[str, object]

_STATUS: Final = re.compile(r"\A\s*[45]\d\d\b:?\s*")
_NOTHING: Final[dict[str, object]] = {}


def record_in(line: bytes) -> Record:
    """Return the JSON object of a line; an empty one for anything else."""
    try:
        return as_record(json.loads(line.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return _NOTHING


def as_record(value: object) -> Record:
    return cast("Record", value) if isinstance(value, dict) else _NOTHING


def as_list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def as_text(value: object) -> str:
    """Return a string, with a mark for whatever no encoding can write; empty for anything else."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def text_of(content: object) -> str:
    """Return the text of a message or of a tool's result: its text blocks, one below the other."""
    return as_text(content) if isinstance(content, str) else "\n".join(_texts(content))


def _texts(content: object) -> Iterator[str]:
    for block in map(as_record, as_list(content)):
        if block.get("type") == "text" and (text := as_text(block.get("text"))):
            yield text


def wording(said: str) -> str:
    """Return the message in `503: {"message": …}` and the like."""
    rest = _STATUS.sub("", said)
    body = record_in(rest.encode())
    return as_text(as_record(body.get("error")).get("message")) or as_text(body.get("message")) or rest


def compact(value: object) -> str:
    """JSON without blanks, as the model may have written it."""
    try:
        return as_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    except (TypeError, ValueError, RecursionError):
        return ""


def usage_in(message: Record) -> Usage:
    """Return the usage of a turn. `pi` counts cached input beside the input, we count it as a part of it."""
    counted = as_record(message.get("usage"))
    read, written = _count(counted.get("cacheRead")), _count(counted.get("cacheWrite"))
    return Usage(
        requests=1,
        input_tokens=_count(counted.get("input")) + read + written,
        output_tokens=_count(counted.get("output")),
        cached_tokens=read,
        cache_write_tokens=written,
        cost_usd=_cost(as_record(counted.get("cost")).get("total")),
    )


def _number(value: object) -> float:
    """Return a finite number from 0 up; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return value if 0 <= value < math.inf else 0


def _count(value: object) -> int:
    return int(_number(value))


def _cost(value: object) -> Decimal | None:
    """USD. A cost of 0 is how `pi` says that it knows no price."""
    cost = _number(value)
    return Decimal(str(cost)) if cost else None
