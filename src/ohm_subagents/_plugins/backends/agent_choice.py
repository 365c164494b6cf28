"""The model, the thinking level and the key of an agent profile, unless the call or ohm.json chose others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.events import DiagnosticRaised

if TYPE_CHECKING:
    from ohm_subagents._plugins.backends.request import RunRequest
    from ohm_subagents.contract.agent import AgentOptions
    from ohm_subagents.contract.model_pattern import ModelPattern, Thinking
    from ohm_subagents.contract.profile import Profile


def overriding_model(request: RunRequest) -> ModelPattern | None:
    """Return the model of the run if the call or ohm.json chose it, and not the file of its profile."""
    agent = request.profile.agent
    is_own = agent is not None and _names_model(agent) and request.model == request.profile.model
    return None if is_own else request.model


def thinking_level(agent: AgentOptions, other: ModelPattern | None) -> Thinking | None:
    """Return the level of the profile's file, for the file's own model, or for `other` if the file names none.

    None too where `other` brings a level of its own.
    """
    return None if other is not None and (other.thinking or _names_model(agent)) else agent.thinking


def _names_model(agent: AgentOptions) -> bool:
    return bool(agent.provider or agent.model)


def profile_key(profile: Profile, provider: str | None) -> str | None:
    """Return the key of the profile if it is for this provider: the one that it names, or any if it names none."""
    agent = profile.agent
    if agent is None or provider is None:
        return None
    meant = profile.model.provider if profile.model is not None else (agent.provider or "").lower()
    return agent.api_key if not meant or meant == provider else None


def unused_key(profile: Profile, why: str) -> DiagnosticRaised:
    """Return the warning that the key of a profile is not used."""
    said = f'The apiKey of profile "{profile.name}" is not used: {why}.'
    return DiagnosticRaised(diagnostic=Diagnostic(subject="apiKey", message=said))
