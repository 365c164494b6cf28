"""Texts for people and for the calling model: a call, its result, its progress, and the agents that can be called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import Ok, truncate
from ohm_subagents.views import one_line, tool_rows, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents.suite import Profile, Task, ToolResult
    from ohm_subagents.suites.sticky.agents import Prompt
    from ohm_subagents.views import View

RUNNING: Final = "(running...)"
_TAIL_CHARS: Final = 2000
_ROWS: Final = 4
_SUMMARY_CHARS: Final = 200


def result_text(result: ToolResult, view: View) -> str:
    """Wrap the text of a result to the width of the view."""
    return "\n".join(wrapped(result.text, view.width))


def progress_text(task: Task | None) -> str:
    """Show the newest text of the agent, and below it its newest tool calls."""
    if task is None:
        return RUNNING
    rows = [one_line(row) for row in tool_rows(task)[-_ROWS:]]
    return "\n".join(filter(None, (task.text[-_TAIL_CHARS:].strip(), *rows))) or RUNNING


def roster_text(agents: Mapping[str, Prompt]) -> str:
    """List the agents that can be called, one a line."""
    usable = [agent.ok_value for agent in agents.values() if isinstance(agent, Ok)]
    lines = [f"- {agent.name}: {_summary(agent)}" if agent.summary else f"- {agent.name}" for agent in usable]
    return "\n".join(["Agents:", *lines]) if lines else "There are no agents yet."


def roster_names(agents: Mapping[str, Prompt]) -> str:
    """Name them in one sentence."""
    names = (name for name, agent in agents.items() if isinstance(agent, Ok))
    return f"Available agents: {', '.join(names) or '(none)'}."


def _summary(agent: Profile) -> str:
    """Cut the summary: a project's file may say anything, and the text is part of the calling model's prompt."""
    kept = truncate(one_line(agent.summary), _SUMMARY_CHARS)
    return f"{kept.text}…" if kept.is_truncated else kept.text
