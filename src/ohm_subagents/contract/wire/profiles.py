"""Profiles as plain JSON, each written and read once: tasks that are started at a time share a few."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, cast

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError, to_json

from ohm_subagents.contract.profile import Profile
from ohm_subagents.contract.text import encodable_json

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ohm_subagents.contract.wire.messages import WireObject

MOST: Final = 64
"""Profiles that are kept; one more, and all are written and read anew."""
_written: Final[dict[int, tuple[Profile, WireObject, int]]] = {}
"""By the id of a profile, which is kept so that no other one gets its id."""
_read: Final[dict[bytes, Profile]] = {}
"""By the text of a profile: equal objects may be 1 and true in different places."""
_newest: Final[list[tuple[JsonValue, Profile]]] = []
"""The fields that were read last, and their profile: the runs of a post share the very object."""


def profile_fields(profile: Profile) -> WireObject:
    """Return a profile as plain JSON, the same object for the same profile: it must not be changed."""
    return _kept(profile)[1]


def profile_size(profile: Profile) -> int:
    """Return how many bytes of text that is."""
    return _kept(profile)[2]


def read_profile(fields: JsonValue) -> Profile | JsonValue:
    """Return the profile of its fields, the same object for the same fields; what is no profile as it came."""
    for known, profile in _newest:
        if known is fields:
            return profile
    try:
        text = to_json(fields)
        found = _read.get(text)
        if found is None:
            if len(_read) >= MOST:
                _read.clear()
            found = _read[text] = _adapter().validate_python(fields)
    except (PydanticSerializationError, ValueError):  # also a ValidationError, which says more where all is read
        return fields
    _newest[:] = [(fields, found)]
    return found


def _kept(profile: Profile) -> tuple[Profile, WireObject, int]:
    found = _written.get(id(profile))
    if found is None:
        if len(_written) >= MOST:
            _written.clear()
        fields = _adapter().dump_python(profile, mode="json")
        try:
            size = len(to_json(fields))
        except (PydanticSerializationError, ValueError):
            fields = cast("WireObject", encodable_json(fields))
            size = len(to_json(fields))
        found = _written[id(profile)] = profile, fields, size
    return found


@cache
def _adapter() -> TypeAdapter[Profile]:
    return TypeAdapter(Profile)
