"""The agent profiles as the engine sees them: to continue tasks of them, and to complete those that are subagents.

What reads them is imported when there is something to read, or a task of one: most places have none.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ohm_subagents.suite import ProfileSource
from ohm_subagents.suites.delegate import FOLDER, SKILLS, SUITE
from ohm_subagents.suites.delegate.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from ohm_subagents.suite import Clock, Diagnostic, OhmError, Place, Profile, Result
    from ohm_subagents.suites.delegate.agents import AgentRepository


def profile_source(place: Place, clock: Clock, parent_tools: Callable[[], tuple[str, ...]]) -> ProfileSource:
    """Return the source of the agent profiles at a place."""
    folders = place.agent_dir / FOLDER, place.cwd / ".pi" / FOLDER

    @cache
    def agents() -> AgentRepository:
        from ohm_subagents.suites.delegate.agents import AgentRepository  # noqa: PLC0415  see above

        return AgentRepository(place, clock)

    def names() -> Iterable[str]:
        return agents().roster().profiles if any(map(_may_be_there, folders)) else ()

    def find(profile_id: str) -> Result[Profile, OhmError]:
        return agents().find("" if profile_id == SUITE else profile_id)

    def diagnostics() -> Iterator[Diagnostic]:
        if any(map(_may_be_there, (*folders, place.cwd / ".pi" / SKILLS))):
            yield from agents().diagnostics()
        yield from load_settings(place)[1]

    return ProfileSource(
        suite=SUITE,
        used_by="delegate_to_subagents (`ohm delegate`)",
        names=names,
        find=find,
        complete=lambda profile: agents().complete(profile, parent_tools()),
        diagnostics=diagnostics,
    )


def _may_be_there(folder: Path) -> bool:
    """Return True unless it is certain that there is nothing to read, and nothing to say of it."""
    try:
        folder.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
