"""Offer the agents of other programs' files. Nothing is read, and no reader imported, before `agentFiles` says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.suite import hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import JsonValue

    from ohm_subagents.suite import Clock, Place, Profile, ProfileSource


@hookimpl
def ohm_profiles(config: Mapping[str, JsonValue], place: Place) -> Iterable[Profile]:
    """Offer the agents of the formats that are chosen."""
    if not config.get("agentFiles"):
        return ()
    from ohm_subagents.agent_files.roster import load_agents  # noqa: PLC0415  most choose none

    return load_agents(config, place).profiles


@hookimpl
def ohm_profile_sources(config: Mapping[str, JsonValue], place: Place, clock: Clock) -> Iterable[ProfileSource]:
    """Offer the same to the engine, to continue tasks of them and to say what of their files does not hold."""
    if not config.get("agentFiles"):
        return ()
    from ohm_subagents.agent_files.roster import profile_source  # noqa: PLC0415  most choose none

    return [profile_source(config, place, clock)]
