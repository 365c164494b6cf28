"""Foreign JSON, read without trust: what has another shape is nothing."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from ohm_subagents.plugin import JsonObject


def object_of(value: object) -> JsonObject:
    """Return an object; an empty one for what is none."""
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def objects_of(value: object) -> list[JsonObject]:
    """Return the objects of a list."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("JsonObject", item) for item in items if isinstance(item, dict)]


def texts_of(content: object) -> str:
    """Return a text, or blocks of which some are text."""
    if isinstance(content, str):
        return content
    texts = (block.get("text") for block in objects_of(content))
    return "\n".join(text for text in texts if isinstance(text, str))


def count(value: object) -> int:
    """Return a number of tokens or requests; 0 for what is none."""
    return value if isinstance(value, int) and value > 0 else 0


def dollars(value: object) -> Decimal | None:
    """Return a cost; None for nothing, which is what CLIs say of a model without a price."""
    return Decimal(str(value)) if isinstance(value, int | float) and 0 < value < float("inf") else None


def compact(value: object) -> str:
    """JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
