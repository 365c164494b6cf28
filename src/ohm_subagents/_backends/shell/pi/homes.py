"""A configuration directory for each kind of run, so that none sees what is meant for another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._backends.shell.pi.home import PiHome
from ohm_subagents._backends.shell.pi.home_files import asked_provider, users_directory
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.events import DiagnosticRaised

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from ohm_subagents._backends.services import CompatibleProvider
    from ohm_subagents._plugins.interfaces import RunRequest


class PiHomes:
    """Made below `folder` when a run needs them: one for all profiles but those of 000, one for these, and one for each
    provider that a profile of 000 has a key for.
    """

    def __init__(self, folder: Path, services: Iterable[CompatibleProvider], env: Mapping[str, str | None]) -> None:
        self._folder = folder
        self._services = tuple(services)
        self._env = env
        self._homes: dict[tuple[bool, str | None], PiHome] = {}

    def home(self, request: RunRequest) -> PiHome:
        """The directory for a run."""
        is_agents, keyed = request.profile.agent is not None, keyed_provider(request)
        if (is_agents, keyed) not in self._homes:
            folder = self._folder / f"{len(self._homes)}"
            self._homes[is_agents, keyed] = PiHome(
                folder, self._services, env=self._env, is_agents=is_agents, keyed=keyed
            )
        return self._homes[is_agents, keyed]


def keyed_provider(request: RunRequest) -> str | None:
    """The provider that is given the key of the profile: the one that the profile names, else that of the run.

    None without a key, and where the run has a model of another provider than the profile: nobody's key goes to others.
    """
    agent = request.profile.agent
    if agent is None or not agent.api_key:
        return None
    own = request.profile.model
    meant = own.provider if own is not None else (agent.provider or "").lower()
    asked = asked_provider(request, users_directory(request.env) / "settings.json")
    return asked if not meant or meant == asked else None


def unused_key(request: RunRequest) -> Iterable[DiagnosticRaised]:
    """A key that no provider is given."""
    agent = request.profile.agent
    if agent is not None and agent.api_key and keyed_provider(request) is None:
        why = "names no provider" if request.model is None else f'does not name provider "{request.model.provider}"'
        told = Diagnostic(
            subject="apiKey", message=f'The apiKey of profile "{request.profile.id}" is not used: the profile {why}.'
        )
        yield DiagnosticRaised(diagnostic=told)
