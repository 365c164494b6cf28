"""Discovery: what is installed under the entry-point group, imported as far as the configuration allows."""

from __future__ import annotations

import logging
import os
import re
import sys
from dataclasses import replace
from importlib import metadata
from operator import is_
from typing import TYPE_CHECKING, Final

from ohm_subagents._concurrency.faults import error_line
from ohm_subagents._plugins.hooks.specs import PROJECT
from ohm_subagents._records import dataclass
from ohm_subagents.contract.diagnostics import Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

BLOCK_VARIABLE: Final = "OHM_SUBAGENTS_BLOCK_PLUGINS"
DISTRIBUTION: Final = "ohm-subagents"
WITHOUT_ITSELF: Final = (
    "The installed metadata of ohm-subagents names none of its own plugins, so there is no backend and no tool. "
    "Install it again, in a clone with `uv sync --all-packages`; a frozen program has to copy its metadata."
)
logger = logging.getLogger(PROJECT)
logger.addHandler(logging.NullHandler())  # silent until the host program listens


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """An entry point: its name is the plugin's name."""

    name: str
    distribution: str
    version: str

    def __str__(self) -> str:
        """Return the plugin as messages name it: its name, distribution and version."""
        return f"Plugin {self.name!r} of {self.distribution} {self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A plugin, imported and not yet registered."""

    installed: Installed
    plugin: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """A plugin that the configuration leaves out; it was not imported."""

    installed: Installed


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """A plugin that could not be had."""

    installed: Installed
    diagnostic: Diagnostic


Found = Imported | Blocked | Broken


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """The entry points of the group of other distributions, by distribution and name, and what is wrong beside them."""

    found: tuple[Found, ...]
    diagnostics: tuple[Diagnostic, ...]


def all_allowed(_name: str) -> bool:
    """Leave out no plugin."""
    return True


def discover(allows: Callable[[str], bool] = all_allowed) -> Discovery:
    """Import the installed plugins whose names are allowed; never raises for a broken one.

    If two distributions use one name, the first by distribution name has it and the other is a diagnostic.
    """
    scan = _scan()
    found = _found((one for one in scan.entry_points if one[0].distribution != DISTRIBUTION), allows)
    return Discovery(found=found, diagnostics=scan.diagnostics)


def own_plugins(allows: Callable[[str], bool] = all_allowed) -> tuple[Found, ...]:
    """Import the plugins that this distribution brings itself and whose names are allowed.

    They are found as anybody's are, and come before all others. Empty where its metadata is not installed.
    """
    return _found((one for one in _scan().entry_points if one[0].distribution == DISTRIBUTION), allows)


def _found(
    entry_points: Iterable[tuple[Installed, metadata.EntryPoint]], allows: Callable[[str], bool]
) -> tuple[Found, ...]:
    owners: dict[str, Installed] = {}
    found: list[Found] = []
    for installed, entry_point in entry_points:
        if not allows(installed.name):
            found.append(Blocked(installed=installed))
        elif (owner := owners.setdefault(installed.name, installed)) is not installed:
            found.append(_broken(installed, f"uses a name that {owner.distribution} has.", "Uninstall one of them."))
        else:
            found.append(_imported(installed, entry_point))
    return tuple(found)


def leave_out(name: str) -> str:
    """Return the advice about a broken plugin: repair it, or block it."""
    return f"Repair it, or set {BLOCK_VARIABLE}={name} to leave it out."


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scan:
    """All entry points of the group, as the finders and folders of one moment have them.

    Reading the metadata of a hundred distributions takes longer than all the rest of opening an `Ohm`, so a scan is
    kept for as long as these are the same. An installation changes the time of its folder.
    """

    finders: tuple[object, ...]
    folders: tuple[tuple[str, int], ...]
    entry_points: tuple[tuple[Installed, metadata.EntryPoint], ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    def is_of(self, other: _Scan) -> bool:
        """Compare the places; finders are told apart by identity, for not all can be compared."""
        same = len(self.finders) == len(other.finders) and all(map(is_, self.finders, other.finders))
        return same and self.folders == other.folders


_latest: list[_Scan] = []


def _scan() -> _Scan:
    """Return the latest scan if it still holds, else a new one; unreadable metadata is read again each time."""
    asked = _Scan(finders=tuple(sys.meta_path), folders=tuple((place, _changed_ns(place)) for place in sys.path))
    if _latest and _latest[0].is_of(asked):
        return _latest[0]
    entry_points, diagnostics = _entry_points()
    made = replace(asked, entry_points=entry_points, diagnostics=diagnostics)
    _latest[:] = [] if diagnostics else [made]
    return made


def _changed_ns(place: str) -> int:
    try:
        return os.stat(place or ".").st_mtime_ns  # noqa: PTH116  a Path for each place takes longer than all the rest
    except (OSError, ValueError):
        return 0


def _entry_points() -> tuple[tuple[tuple[Installed, metadata.EntryPoint], ...], tuple[Diagnostic, ...]]:
    """Yield each distribution once: the first on the path, as for imports. Unreadable metadata is passed over."""
    seen: set[str] = set()
    found: list[tuple[Installed, metadata.EntryPoint]] = []
    diagnostics: list[Diagnostic] = []
    for distribution in metadata.distributions():
        try:
            mine = [point for point in distribution.entry_points if point.group == PROJECT]
            about = distribution.metadata if mine else {"Name": "", "Version": ""}  # read at each look at it
            name, version = about["Name"], about["Version"]
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # anybody's metadata: one unreadable file must not cost every plugin
            logger.warning("Metadata of an installed distribution cannot be read.", exc_info=True)
            message = f"The metadata of an installed distribution cannot be read: {error_line(error)}."
            diagnostics.append(Diagnostic(subject=PROJECT, message=message))
            continue
        normalized = re.sub(r"[-_.]+", "-", name).lower()
        if mine and normalized not in seen:
            seen.add(normalized)
            found += ((Installed(name=point.name, distribution=name, version=version), point) for point in mine)
    return tuple(sorted(found, key=_by_distribution)), tuple(diagnostics)


def _by_distribution(entry: tuple[Installed, metadata.EntryPoint]) -> tuple[str, str]:
    return entry[0].distribution.lower(), entry[0].name


def _imported(installed: Installed, entry_point: metadata.EntryPoint) -> Found:
    try:
        plugin: object = entry_point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module of others; it may even call exit()
        logger.warning("%s could not be imported.", installed, exc_info=True)
        return _broken(installed, f"could not be imported: {error_line(error)}.", leave_out(installed.name))
    return Imported(installed=installed, plugin=plugin)


def _broken(installed: Installed, fact: str, advice: str) -> Broken:
    diagnostic = Diagnostic(subject=installed.name, message=f"{installed} {fact} {advice}", severity="error")
    return Broken(installed=installed, diagnostic=diagnostic)
