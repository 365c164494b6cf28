"""Which agents there are, as a caller is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import Ok, Profile, truncate
from ohm_subagents.views import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents.suites.sticky.agents import Prompt

_SUMMARY_CHARS: Final = 200


def roster_text(agents: Mapping[str, Prompt]) -> str:
    """The agents that can be called, a line each."""
    usable = [agent.ok_value for agent in agents.values() if isinstance(agent, Ok)]
    lines = [f"- {agent.name}: {_summary(agent)}" if agent.summary else f"- {agent.name}" for agent in usable]
    return "\n".join(["Agents:", *lines]) if lines else "There are no agents yet."


def roster_names(agents: Mapping[str, Prompt]) -> str:
    """Their names in one sentence."""
    names = (name for name, agent in agents.items() if isinstance(agent, Ok))
    return f"Available agents: {', '.join(names) or '(none)'}."


def _summary(agent: Profile) -> str:
    """A file of a project may say anything, and the text stands in the prompt of whoever may call the tool."""
    told = truncate(one_line(agent.summary), _SUMMARY_CHARS)
    return f"{told.text}…" if told.is_truncated else told.text
