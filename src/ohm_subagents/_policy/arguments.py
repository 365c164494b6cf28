"""Judge a call of a tool of a plugin or a server by one of its arguments, as `branch=main`."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from ohm_subagents._records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from ohm_subagents._policy.ground import Ground

_SEPARATOR: Final = "', '"


@dataclass(frozen=True, slots=True)
class ArgumentCall:
    """A call by its arguments; `*` in a pattern is any characters of the value."""

    arguments: Mapping[str, JsonValue]
    """The arguments, by name."""

    def beyond(self, allowed: tuple[str, ...], _ground: Ground) -> str | None:
        """Return why the call is not certainly one of the allowed ones; None if it is."""
        if any(_is(value, self._value(name)) for name, value in map(_read, allowed)):
            return None
        return f"only '{_SEPARATOR.join(allowed)}' is allowed"

    def may_be(self, patterns: tuple[str, ...], _ground: Ground) -> str | None:
        """Return why the call may be one of the patterns; None if it is none. An argument not given may be any."""
        for one in patterns:
            name, value = _read(one)
            given = self._value(name)
            if given is None:
                return f"it does not say '{name}', and '{one}' is ruled"
            if _is(value.casefold(), given.casefold()):
                return f"it is '{one}'"
        return None

    def _value(self, name: str) -> str | None:
        """Return an argument as text, JSON if it is none; None if it is not given."""
        found = self.arguments.get(name)
        return found if found is None or isinstance(found, str) else json.dumps(found)


def _read(pattern: str) -> tuple[str, str]:
    name, _, value = pattern.partition("=")
    return name.strip(), value.strip()


def _is(pattern: str, value: str | None) -> bool:
    return value is not None and fnmatchcase(value, pattern.replace("[", "[[]").replace("?", "[?]"))
