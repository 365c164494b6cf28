"""Which values of an environment are secrets, by the names of their variables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LEAST_SECRET: Final = 8
"""A shorter value would be found in words that have nothing to do with it."""

_SECRET: Final = re.compile(
    r"(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)\Z|API_KEY|ACCESS_KEY|BEARER_TOKEN", re.IGNORECASE
)


def secrets_of(env: Mapping[str, str], literals: Iterable[str] = ()) -> tuple[str, ...]:
    """The values that must never be shown, longest first: those of `env`, and `literals`."""
    found = {*literals, *(value.strip() for name, value in env.items() if _SECRET.search(name))}
    return tuple(sorted((value for value in found if len(value) >= LEAST_SECRET), key=len, reverse=True))
