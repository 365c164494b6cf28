"""The configuration directories of `pi`, one for each kind of run: none sees what is meant for another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.backends.pi.config_dir import PiHome
from ohm_subagents.backends.pi.config_files import asked_provider, users_directory
from ohm_subagents.plugin import CompatibleProvider, DiagnosticRaised, RunRequest, profile_key, unused_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


class PiHomes:
    """Made below `folder` when a run needs them: one for agent profiles, one for each provider that an agent profile
    has a key for, and one for all other profiles.
    """

    def __init__(self, folder: Path, services: Iterable[CompatibleProvider], env: Mapping[str, str | None]) -> None:
        self._folder = folder
        self._services = tuple(services)
        self._env = env
        self._homes: dict[tuple[bool, str | None], PiHome] = {}

    def home(self, request: RunRequest) -> PiHome:
        """Return the directory for a run."""
        is_agents, keyed = request.profile.agent is not None, keyed_provider(request)
        if (is_agents, keyed) not in self._homes:
            folder = self._folder / f"{len(self._homes)}"
            self._homes[is_agents, keyed] = PiHome(
                folder, self._services, env=self._env, is_agents=is_agents, keyed=keyed
            )
        return self._homes[is_agents, keyed]


def keyed_provider(request: RunRequest) -> str | None:
    """Return the provider of the run if the key of its profile is for that one: no key goes to another provider."""
    asked = asked_provider(request, users_directory(request.env) / "settings.json")
    return asked if profile_key(request.profile, asked) else None


def unused(request: RunRequest) -> Iterable[DiagnosticRaised]:
    """Warn of a key of the profile that is not used."""
    agent = request.profile.agent
    if agent is not None and agent.api_key and keyed_provider(request) is None:
        asked = asked_provider(request, users_directory(request.env) / "settings.json")
        yield unused_key(request.profile, f'provider "{asked}" runs' if asked else "it names no provider")
