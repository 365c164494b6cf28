"""The agent profiles as the engine sees them: to continue tasks of them, and to complete those that are subagents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.suite import Ok, ProfileSource
from ohm_subagents.suites.delegate.agents import DEFAULT_AGENT, AgentRepository
from ohm_subagents.suites.delegate.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ohm_subagents.suite import Clock, Diagnostic, OhmError, Place, Profile, Result


def profile_source(place: Place, clock: Clock, parent_tools: Callable[[], tuple[str, ...]]) -> ProfileSource:
    """Return the source of the agent profiles at a place."""
    agents = AgentRepository(place, clock)

    def find(profile_id: str) -> Result[Profile, OhmError]:
        return Ok(DEFAULT_AGENT) if profile_id == DEFAULT_AGENT.id else agents.find(profile_id)

    def diagnostics() -> Iterator[Diagnostic]:
        yield from agents.diagnostics()
        yield from load_settings(place)[1]

    return ProfileSource(
        suite=DEFAULT_AGENT.suite,
        used_by="delegate_to_subagents (`ohm delegate`)",
        names=lambda: agents.roster().profiles,
        find=find,
        complete=lambda profile: agents.complete(profile, parent_tools()),
        diagnostics=diagnostics,
    )
