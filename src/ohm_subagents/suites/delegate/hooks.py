"""The suite `delegate`: four tools for parallel sub-agents with profiles. Its code is loaded when it is mounted."""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING

from ohm_subagents.suite import ToolSuiteSpec, hookimpl
from ohm_subagents.suites.delegate import FOLDER, SUITE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydantic import JsonValue

    from ohm_subagents.suite import Clock, Place, Profile, ProfileSource, SuiteContext, Tool


@hookimpl
def ohm_tool_suites() -> Iterable[ToolSuiteSpec]:
    """Offer the suite."""
    summary = "Delegate tasks to parallel sub-agents with profiles."
    yield ToolSuiteSpec(name=SUITE, summary=summary, build=_build, agents=_agents)


@hookimpl
def ohm_profiles(config: Mapping[str, JsonValue], place: Place) -> Iterable[Profile]:
    """Offer the agent profiles that `agentProfiles` makes subagents of the tool `task`; all, if it says nothing."""
    chosen = config.get("agentProfiles")
    folders = (place.agent_dir / FOLDER, place.cwd / ".pi" / FOLDER)
    if chosen is False or not any(map(os.path.isdir, folders)):
        return ()
    from ohm_subagents.suites.delegate.agents import chosen_agents, load_agents  # noqa: PLC0415  most have none

    return chosen_agents(chosen, load_agents(place).read)


@hookimpl
def ohm_profile_sources(
    place: Place, clock: Clock, parent_tools: Callable[[], tuple[str, ...]]
) -> Iterable[ProfileSource]:
    """Offer the agent profiles to the engine."""
    from ohm_subagents.suites.delegate.source import profile_source  # noqa: PLC0415  not for `ohm --help`

    yield profile_source(place, clock, parent_tools)


@hookimpl
def ohm_secrets(place: Place) -> Iterable[str]:
    """Name the keys in the files of agent profiles."""
    from ohm_subagents.suites.delegate.agents import load_agents  # noqa: PLC0415  only redaction needs it

    agents = (profile.agent for profile in load_agents(place).profiles.values())
    return [agent.api_key for agent in agents if agent is not None and agent.api_key]


def _agents(place: Place, _options: Mapping[str, JsonValue]) -> Iterable[Profile]:
    from ohm_subagents.suites.delegate.agents import load_agents  # noqa: PLC0415  only a list of agents needs it here

    return load_agents(place).profiles.values()


def _build(context: SuiteContext) -> tuple[Tool, ...]:
    from ohm_subagents.suites.delegate.suite import build  # noqa: PLC0415  only who mounts it needs it

    return build(context)
