"""A call of `subagent` and its result, for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents.views import one_line, wrapped

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ohm_subagents.suite import ToolResult
    from ohm_subagents.views import Theme, View


def call_line(arguments: JsonValue, theme: Theme) -> str:
    """The tool and the agent."""
    agent = arguments.get("agent") if isinstance(arguments, dict) else None
    title = theme.fg("toolTitle", theme.bold("subagent "))
    return title + theme.fg("accent", one_line(agent) if isinstance(agent, str) and agent else "?")


def result_text(result: ToolResult, view: View) -> str:
    """The text, as wide as the view."""
    return "\n".join(wrapped(result.text, view.width))
