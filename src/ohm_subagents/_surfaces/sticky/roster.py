"""Which agents there are, as a caller is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from ohm_subagents._views.cells import one_line
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.profile import Profile
from ohm_subagents.contract.result import Ok, Result
from ohm_subagents.contract.truncation import truncate

Agents: TypeAlias = Mapping[str, Result[Profile, OhmError]]
_SUMMARY_CHARS: Final = 200


def roster_text(agents: Agents) -> str:
    """The agents that can be called, a line each."""
    usable = [agent.ok_value for agent in agents.values() if isinstance(agent, Ok)]
    lines = [f"- {agent.name}: {_summary(agent)}" if agent.summary else f"- {agent.name}" for agent in usable]
    return "\n".join(["Agents:", *lines]) if lines else "There are no agents yet."


def roster_names(agents: Agents) -> str:
    """Their names in one sentence."""
    names = (name for name, agent in agents.items() if isinstance(agent, Ok))
    return f"Available agents: {', '.join(names) or '(none)'}."


def _summary(agent: Profile) -> str:
    """A file of a project may say anything, and the text stands in the prompt of whoever may call the tool."""
    told = truncate(one_line(agent.summary), _SUMMARY_CHARS)
    return f"{told.text}…" if told.is_truncated else told.text
