"""The options of an agent profile, `Profile.agent`, for a backend: what a run takes of them, and warnings of the rest.

The call and ohm.json come before the model, the thinking level and the key that the file of the profile names.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ohm_subagents._plugins.backends.attaching import Reattached
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.events import DiagnosticRaised

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ohm_subagents._plugins.backends.interface import RunOutput
    from ohm_subagents._plugins.backends.preparation import PreparingBackend
    from ohm_subagents._plugins.backends.request import RunRequest
    from ohm_subagents._plugins.backends.sink import Sink
    from ohm_subagents.contract.agent import AgentOptions
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.model_pattern import ModelPattern, Thinking
    from ohm_subagents.contract.profile import Profile
    from ohm_subagents.contract.result import Result


class WithoutAgentOptions:
    """Runs a backend that does not know `Profile.agent`: adds the appended prompt, and warns of all other settings."""

    def __init__(self, backend: PreparingBackend, backend_id: str) -> None:
        self._backend = backend
        self._id = backend_id

    async def prepare(self, profile: Profile, model: ModelPattern | None) -> Result[None, OhmError]:
        return await self._backend.prepare(profile, model)

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        agent = request.profile.agent
        if agent is not None:
            for event in unsupported_options(request, (*_beyond_the_request(request),), backend_id=self._id):
                sink.emit(event)
            text = full_instructions(request.instructions, agent.appended_prompt)
            request = replace(request, spec=replace(request.spec, instructions=text))
        return await self._backend.run(request, sink)

    async def attach(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        return await Reattached(self._backend).run(request, sink)


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


def full_instructions(prompt: str, appended: str) -> str:
    """Return the system prompt, and below it what is appended."""
    return "\n\n".join(text for text in (prompt, appended) if text)


def unsupported_options(request: RunRequest, fields: Iterable[str], *, backend_id: str) -> Iterable[DiagnosticRaised]:
    """Warn of the fields of a profile that a backend does not support, if there are any."""
    names = ", ".join(fields)
    if names:
        said = f'Backend "{backend_id}" does not look at these fields of profile "{request.profile.name}": {names}.'
        yield DiagnosticRaised(diagnostic=Diagnostic(subject="profile", message=said))


def agent_fields(profile: Profile) -> Iterator[str]:
    """Yield the settings of an agent profile, by the names of its file."""
    yield from ("system prompt",) if profile.prompt else ()
    yield from ("tools",) if profile.tools.allowed is not None or profile.tools.denied else ()
    yield from ("appendSystemPrompt",) if profile.agent is not None and profile.agent.appended_prompt else ()
    yield from _of_its_model(profile)
    yield from _of_its_agent(profile)


def _beyond_the_request(request: RunRequest) -> Iterator[str]:
    """Yield the settings that no other field of a `RunRequest` holds."""
    if request.model is None:
        yield from _of_its_model(request.profile)
    yield from _of_its_agent(request.profile)


def _of_its_model(profile: Profile) -> Iterator[str]:
    agent = profile.agent
    if agent is not None:
        named = {"provider": agent.provider, "model": agent.model, "thinkingLevel": agent.thinking}
        yield from (name for name, value in named.items() if value)


def _of_its_agent(profile: Profile) -> Iterator[str]:
    agent = profile.agent
    if agent is None:
        return
    rest = {
        "apiKey": agent.api_key,
        "noExtensions": agent.no_extensions,
        "extensions": agent.extensions,
        "noSkills": agent.no_skills,
        "suggestedSkills": agent.skill_paths,
        "noContextFiles": agent.no_context_files,
        "extraArgs": agent.extra_args,
    }
    yield from (name for name, value in rest.items() if value)
