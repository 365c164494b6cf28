"""Profiles that a tool suite reads from files of its own, as the engine needs them beside the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ohm_subagents._records import dataclass
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.profile import Profile
from ohm_subagents.contract.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSource:
    """The profiles of one tool suite. A profile says by `Profile.suite` that it is from here."""

    suite: str
    """The name of the suite. Rules and settings of ohm.json for this name are those of its default agent."""
    used_by: str
    """The tool, or command, that runs these profiles: named to a caller who asks the tool `task` for one."""
    names: Callable[[], Iterable[str]]
    """Return the ids for which ohm.json may have rules and settings."""
    find: Callable[[str], Result[Profile, OhmError]]
    """Return the profile with this id, to continue a task of it; it is not complete yet."""
    complete: Callable[[Profile], Result[Profile, OhmError]]
    """Return a profile with all that one task needs, or the error that refuses the task."""
    diagnostics: Callable[[], Iterable[Diagnostic]] = tuple
    """Return what is wrong with the files."""
