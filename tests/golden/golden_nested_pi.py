"""The start of a nested pi for a run of a suite case: arguments and environment, as the backend makes them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from golden_place import Place
from run_requests import run_request

from ohm_subagents.backends.pi.agent_flags import agent_flags
from ohm_subagents.backends.pi.config_dir import PiHome
from ohm_subagents.backends.pi.flags import arguments
from ohm_subagents.backends.pi.probe import PiVersion
from ohm_subagents.contract import Profile, SessionId, TaskId
from ohm_subagents.plugin import RunRequest
from ohm_subagents.shell.dialect import Invocation
from ohm_subagents.shell.environment import child_environment

DOCUMENTED = PiVersion(version=(0, 74, 2), text="0.74.2")
"""A release that knows no flags but those of the document."""


def arguments_of(request: RunRequest, place: Place) -> list[str]:
    """Return what follows the command."""
    return [*arguments(DOCUMENTED, Invocation(request=request, folder=place.home), "json")]


def environment_of(request: RunRequest, place: Place) -> dict[str, str]:
    """The whole environment."""
    home = PiHome(place.home / "private", is_agents=True)
    return child_environment(request, keys=home.keys_for(request), extra=home.environment(request))


def flags_of(profile: Profile) -> list[str]:
    """The flags of a profile alone, whose tools are as it says."""
    return [*agent_flags(profile, tools=profile.tools.allowed)]


def variables_of(profile: Profile, place: Place) -> Mapping[str, str]:
    """Return what the profile adds to the environment."""
    assert profile.agent is not None
    with_it, without = (
        environment_of(_request(one, place.cwd), place)
        for one in (profile, replace(profile, agent=replace(profile.agent, api_key=None)))
    )
    return {name: value for name, value in with_it.items() if without.get(name) != value}


def _request(profile: Profile, cwd: Path) -> RunRequest:
    return run_request(
        task_id=TaskId("task_1"),
        session_id=SessionId("session_1"),
        profile=profile,
        description="case",
        prompt="p",
        instructions=profile.prompt,
        cwd=cwd,
        is_one_shot=True,
    )
