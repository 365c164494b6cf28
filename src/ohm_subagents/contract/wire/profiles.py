"""Profiles as plain JSON, each written once: tasks that are started at a time share a few."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter

from ohm_subagents.contract.profile import Profile

if TYPE_CHECKING:
    from ohm_subagents.contract.wire.messages import WireObject

MOST: Final = 64
"""Profiles that are kept; one more, and all are written anew."""
_written: Final[dict[int, tuple[Profile, WireObject]]] = {}
"""By the id of a profile, which is kept so that no other one gets its id."""


def profile_fields(profile: Profile) -> WireObject:
    """Return a profile as plain JSON, the same object for the same profile: it must not be changed."""
    found = _written.get(id(profile))
    if found is None:
        if len(_written) >= MOST:
            _written.clear()
        found = _written[id(profile)] = profile, _adapter().dump_python(profile, mode="json")
    return found[1]


@cache
def _adapter() -> TypeAdapter[Profile]:
    return TypeAdapter(Profile)
