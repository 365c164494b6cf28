"""Events as plain JSON: for a browser, a log or another process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, Final

from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from ohm_subagents.contract.account import AccountCharged
from ohm_subagents.contract.errors import as_declared
from ohm_subagents.contract.events import Checkpointed, Event, RunEnded, TaskEvent, TaskSettled, UsageAdded
from ohm_subagents.contract.outcome import Failed

VERSION: Final = 1
"""The version of the shape that `event_to_json` writes; a new field or a new `kind` does not change it."""


@cache
def events() -> TypeAdapter[Event]:
    """Reads and writes events, told apart by `kind`; made on first use."""
    return TypeAdapter(Annotated[Event, Field(discriminator="kind")])


def event_to_json(event: Event | TaskEvent, *, with_state: bool = False) -> dict[str, JsonValue]:
    """Write an event as plain JSON: `version`, `kind` and its fields; a cost is a number of US dollars.

    A `TaskEvent` has `task_id` and `at_ms` besides. The `state` of a `Checkpointed`, which is the whole conversation of
    a backend, is left out unless `with_state`: the rest is safe to show in a browser.
    """
    if isinstance(event, TaskEvent):
        written = event_to_json(event.event, with_state=with_state)
        return {"version": VERSION, "task_id": event.task_id, "at_ms": event.at_ms, **written}
    fields: dict[str, JsonValue] = events().dump_python(event, mode="json")
    if isinstance(event, UsageAdded | AccountCharged):
        fields |= {name: _with_plain_cost(fields[name]) for name in ("usage", "remaining") if fields.get(name)}
        if isinstance(unpriced := fields.get("unpriced_usd"), str):
            fields["unpriced_usd"] = float(unpriced)
    if isinstance(event, Checkpointed) and not with_state:
        del fields["state"]
    return {"version": VERSION, **fields}


def _with_plain_cost(amounts: JsonValue) -> JsonValue:
    if not isinstance(amounts, dict) or not isinstance(amounts["cost_usd"], str):
        return amounts
    return {**amounts, "cost_usd": float(amounts["cost_usd"])}


def event_from_json(fields: Mapping[str, object]) -> Event:
    """Return the event of a JSON object that `event_to_json` wrote; unknown fields are ignored.

    A `Checkpointed` that was written without its state has an empty one. Raises ValueError for a version of the future,
    and for what is no event.
    """
    if fields.get("version", VERSION) != VERSION:
        unknown = f"The event has version {fields['version']!r}; this release reads version {VERSION}."
        raise ValueError(unknown)
    if fields.get("kind") == "checkpointed" and "state" not in fields:
        fields = {**fields, "state": ""}
    try:
        event = events().validate_python(fields)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False, include_context=False)[0]
        wrong = f"This is no event: {'.'.join(map(str, first['loc']))} {first['msg']}"
        raise ValueError(wrong) from None
    if isinstance(event, RunEnded | TaskSettled):
        return replace(event, outcome=with_declared_error(event.outcome))
    return event


def with_declared_error(outcome: Any) -> Any:  # noqa: ANN401  an outcome or None; what comes in goes out
    """Return the outcome with one of our own error codes as the member that knows its category."""
    if not isinstance(outcome, Failed):
        return outcome
    return Failed(error=replace(outcome.error, code=as_declared(outcome.error.code)))
