"""Values of a newer release: an event or an error that this one does not know is kept as it came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Annotated, Final, cast, get_args

from pydantic import AfterValidator, BeforeValidator, JsonValue, PlainSerializer, PlainValidator, ValidationError

from ohm_subagents._records import dataclass
from ohm_subagents.contract.errors import Category, OhmError, as_declared
from ohm_subagents.contract.event_json import events, with_declared_error
from ohm_subagents.contract.events import Event, RunEnded, TaskSettled


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownEvent:
    """An event of a newer release."""

    fields: dict[str, JsonValue] = field(hash=False)
    """The event, as it came."""

    @property
    def kind(self) -> str:
        """The kind of the event."""
        return str(self.fields.get("kind", ""))


_EVENTS: Final = get_args(Event)
_CATEGORIES: Final = frozenset(str(one) for one in Category)


def event_of(value: object) -> Event | UnknownEvent:
    """Return the event of its fields, or what holds them if they are those of no event that is known."""
    if not isinstance(value, Mapping):
        return cast("Event", value)
    try:
        event = events().validate_python(value)
    except ValidationError:
        return UnknownEvent(fields={**cast("Mapping[str, JsonValue]", value)})
    if isinstance(event, RunEnded | TaskSettled):
        return replace(event, outcome=with_declared_error(event.outcome))
    return event


def event_fields(event: Event | UnknownEvent) -> dict[str, JsonValue]:
    """Return an event as plain JSON."""
    if isinstance(event, UnknownEvent):
        return event.fields
    fields: dict[str, JsonValue] = events().dump_python(event, mode="json")
    return fields


def error_fields(value: object) -> object:
    """Return the fields of an error; a category of a newer release is left to its code."""
    if not isinstance(value, Mapping):
        return value
    fields = {**cast("Mapping[str, object]", value)}
    if fields.get("category") not in _CATEGORIES:
        fields["category"] = None
    return fields


def declared(error: OhmError) -> OhmError:
    """Return the error with one of our own codes as the member that knows its category; another one stays a text."""
    return replace(error, code=as_declared(error.code))


AnyEvent = Annotated[Event | UnknownEvent, PlainValidator(event_of), PlainSerializer(event_fields)]
AnyError = Annotated[OhmError, BeforeValidator(error_fields), AfterValidator(declared)]
