"""Which model and which thinking level a run of a 000 profile has: its own, or what somebody else chose for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ohm_subagents._plugins.interfaces import RunRequest
    from ohm_subagents.contract.agent import AgentOptions
    from ohm_subagents.contract.model_pattern import ModelPattern, Thinking


def chosen_elsewhere(request: RunRequest) -> ModelPattern | None:
    """The model of the run, if the file of its profile did not choose it: the call did, or ohm.json."""
    agent = request.profile.agent
    is_own = agent is not None and _names_model(agent) and request.model == request.profile.model
    return None if is_own else request.model


def thinking_level(agent: AgentOptions, other: ModelPattern | None) -> Thinking | None:
    """The level that the profile's file asks for. It goes with the file's own model, and with `other` if it names none.

    None too where `other` brings a level of its own.
    """
    return None if other is not None and (other.thinking or _names_model(agent)) else agent.thinking


def _names_model(agent: AgentOptions) -> bool:
    return bool(agent.provider or agent.model)


def full_instructions(prompt: str, appended: str) -> str:
    """The system prompt, and below it what is appended."""
    return "\n\n".join(text for text in (prompt, appended) if text)
