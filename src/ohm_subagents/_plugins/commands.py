"""Commands that plugins bring to `ohm`: found by their entry points, and imported only to run.

`ohm --help` loads this, so it needs nothing but the standard library.
"""

from __future__ import annotations

from importlib import metadata
from typing import Final

from ohm_subagents._records import dataclass

COMMAND_GROUP: Final = "ohm_subagents.commands"
"""The group of entry points: the name of one is the command, its object a typer app or a function."""
OWN_DISTRIBUTION: Final = "ohm-subagents"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledCommand:
    """A command of an installed distribution, not imported yet."""

    name: str
    """The word behind `ohm`, and the plugin's name in `loadPlugins` and `blockPlugins`."""
    distribution: str
    """The distribution that brings it."""
    version: str
    """The version of that."""
    entry_point: metadata.EntryPoint
    """The way to load it."""

    @property
    def is_own(self) -> bool:
        """True for a command of ohm-subagents itself."""
        return self.distribution == OWN_DISTRIBUTION

    def load(self) -> object:
        """Import the command. Raises whatever its module raises."""
        loaded: object = self.entry_point.load()
        return loaded


def installed_commands() -> dict[str, InstalledCommand]:
    """Return the commands by name. Our own keep their names; of others the first by distribution name has one."""
    found = (
        InstalledCommand(name=point.name, distribution=one.name, version=one.version, entry_point=point)
        for point in metadata.entry_points(group=COMMAND_GROUP)
        if (one := point.dist) is not None
    )
    by_name: dict[str, InstalledCommand] = {}
    for command in sorted(found, key=lambda one: (not one.is_own, one.distribution.lower(), one.name)):
        by_name.setdefault(command.name, command)
    return by_name


def commands_of_plugins() -> tuple[str, ...]:
    """Return the names of the commands of other distributions, which `blockPlugins` leaves out like plugins."""
    return tuple(name for name, command in installed_commands().items() if not command.is_own)
