"""A call of `subagent` and its result, for a person (001)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ohm_subagents._plugins.suites import JsonObject, ToolResult
    from ohm_subagents._views.theme import Theme, View

NOTHING: Final = "(no output)"


def call_line(arguments: JsonValue, theme: Theme) -> str:
    """The tool and the agent."""
    agent = arguments.get("agent") if isinstance(arguments, dict) else None
    title = theme.fg("toolTitle", theme.bold("subagent "))
    return title + theme.fg("accent", agent if isinstance(agent, str) and agent else "?")


def result_text(result: ToolResult, view: View) -> str:
    """The text, marked as a success or a failure once it is over."""
    text = result.text or NOTHING
    if "streaming" in result.details:
        return text
    mark = view.theme.fg("error", "✗ ") if _has_failed(result.details) else view.theme.fg("success", "✓ ")
    return f"{mark}{text}"


def _has_failed(details: JsonObject) -> bool:
    results = details.get("results")
    codes = (one.get("exitCode") for one in results if isinstance(one, dict)) if isinstance(results, list) else ()
    return bool(details.get("error")) or any(code not in {None, 0} for code in codes)
