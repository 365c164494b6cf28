"""An agent profile in one line, with its key masked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.suite import AgentOptions
from ohm_subagents.views import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents.suite import Profile


def profile_summary(profile: Profile) -> str:
    """`profile: NAME`, then what it says of model, thinking, prompts and tools: one line, whatever the file has."""
    parts = (f"profile: {profile.name}", *_wishes(profile, profile.agent or AgentOptions()))
    return ", ".join(map(one_line, parts))


def masked(key: str) -> str:
    """Return the ends of a long key, nothing of a short one."""
    return f"{key[:4]}****{key[-4:]}" if len(key) > 8 else "****"


def _wishes(profile: Profile, agent: AgentOptions) -> Iterator[str]:
    if agent.model:
        yield f"model={agent.model}"
    elif agent.provider:
        yield f"provider={agent.provider}"
    if agent.thinking:
        yield f"thinking={agent.thinking}"
    if profile.prompt:
        yield "custom-system-prompt"
    if agent.appended_prompt:
        yield "appended-system-prompt"
    tools = profile.tools
    if tools.allowed is not None:
        yield f"tools=[{','.join(tools.allowed)}]" if tools.allowed else "no-tools"
    elif tools.denied:
        yield f"excludeTools=[{','.join(tools.denied)}]"
