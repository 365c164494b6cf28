"""Arguments that restrain a subagent. One that would be left out, as any unknown key, is refused instead."""

from __future__ import annotations

from typing import Final

_RESTRAINTS: Final = frozenset(
    {
        *("isolation", "isolated", "land", "sandbox", "worktree"),
        *("cwd", "workdir", "workingdir", "workingdirectory"),
        *("tools", "allowedtools", "disallowedtools", "deniedtools", "excludetools"),
        *("permissions", "permissionmode", "readonly"),
    }
)
"""Names without case, `_` and `-`."""
_ALLOWING: Final = frozenset({"tools", "allowedtools"})
"""Those that list all that is allowed."""
REFUSED: Final = "It restrains a subagent, so nothing is started without it: leave it out, or set it in a profile."
"""The advice on such an argument."""


def is_restraint(key: str, value: object) -> bool:
    """Return True if an argument asks for a directory, isolation or fewer tools.

    Null and false ask for none, and an empty list only where it names what is allowed.
    """
    name = key.replace("_", "").replace("-", "").casefold()
    asks = value is not None and value is not False and (value != [] or name in _ALLOWING)
    return asks and name in _RESTRAINTS
