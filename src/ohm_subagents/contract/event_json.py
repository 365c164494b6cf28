"""Events as plain JSON: for a browser, a log or another process."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field, JsonValue, TypeAdapter

from ohm_subagents.contract.events import Event, UsageAdded

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION: Final = 1
"""The version of the shape that `event_to_json` writes; a new field or a new `kind` does not change it."""


@cache
def events() -> TypeAdapter[Event]:
    """Reads and writes events, told apart by `kind`; made on first use."""
    return TypeAdapter(Annotated[Event, Field(discriminator="kind")])


def event_to_json(event: Event) -> Mapping[str, JsonValue]:
    """Write an event as plain JSON: `version`, `kind` and its fields; a cost is a number of US dollars.

    A `Checkpointed` holds the whole conversation of a backend: do not send one to a browser. `Handle.events` leaves
    it out unless it is asked for.
    """
    written: dict[str, JsonValue] = events().dump_python(event, mode="json")
    if isinstance(event, UsageAdded) and event.usage.cost_usd is not None:
        usage = dict(written["usage"] if isinstance(written["usage"], dict) else {})
        written["usage"] = {**usage, "cost_usd": float(event.usage.cost_usd)}
    return {"version": VERSION, **written}
