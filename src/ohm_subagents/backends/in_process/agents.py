"""An agent profile in this process: the instructions, the model, and the settings that only `pi` supports."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ohm_subagents.backends.in_process.skills import skill_list, unread_skills
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.profile import CHILD_TOOLS
from ohm_subagents.plugin import full_instructions, missing_tools, overriding_model, thinking_level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents.contract.agent import AgentOptions
    from ohm_subagents.contract.model_pattern import ModelPattern
    from ohm_subagents.plugin import RunRequest


def instructions_of(request: RunRequest) -> str:
    """Return the instructions of the run."""
    agent = request.profile.agent
    if agent is None:
        return request.instructions
    text = full_instructions(full_instructions(request.instructions, agent.appended_prompt), skill_list(request, agent))
    names = ", ".join(_foreign(request))
    return full_instructions(text, f"You do not have these tools, whatever is said above: {names}." if names else "")


def _foreign(request: RunRequest) -> tuple[str, ...]:
    """Return the tools of the profile that nothing provides here."""
    ours = {*CHILD_TOOLS, *(tool.name for tool in request.child_tools)}
    return tuple(tool for tool in request.tools if tool not in ours)


def with_level(pattern: ModelPattern, request: RunRequest) -> ModelPattern:
    """Return the model of the run, with the thinking level of the profile where that is meant for it."""
    agent = request.profile.agent
    level = None if agent is None else thinking_level(agent, overriding_model(request))
    return pattern if level is None else replace(pattern, thinking=level)


def unsupported(request: RunRequest, pattern: ModelPattern) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each setting of the profile that has no meaning here. `pattern` is the model that runs."""
    agent, name = request.profile.agent, request.profile.name
    if agent is None:
        return
    yield from _other_model(request, agent, pattern)
    foreign = _foreign(request)
    if foreign:
        names = ", ".join(f'"{tool}"' for tool in foreign)
        yield missing_tools(foreign, request, f"There is no tool {names} here")
    yield from unread_skills(agent)
    if agent.extensions:
        said = f'The extensions of profile "{name}" are for pi and are not loaded: {", ".join(agent.extensions)}.'
        yield Diagnostic(subject="extensions", message=said)
    if agent.extra_args:
        said = f'The extraArgs of profile "{name}" are for the command line of pi and have no effect here.'
        yield Diagnostic(subject="extraArgs", message=said)


def _other_model(request: RunRequest, agent: AgentOptions, pattern: ModelPattern) -> Iterator[Diagnostic]:
    """Warn of a model that only `pi` could have found, unless another was chosen for the run."""
    if request.model is not None:
        return
    runs = f'"{pattern.provider}/{pattern.model}" runs'
    if agent.model:
        said = f'The model "{agent.model}" of profile "{request.profile.name}" has no provider, so {runs}.'
        yield Diagnostic(subject="model", message=said)
    elif agent.provider and agent.provider.lower() != pattern.provider:
        said = (
            f'The provider "{agent.provider}" of profile "{request.profile.name}" has no default model here, so {runs}.'
        )
        yield Diagnostic(subject="provider", message=said)
