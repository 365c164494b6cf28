"""A call of `subagent` and its result, for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents.suites.single.details import SubagentErrorCode
from ohm_subagents.views import cells, wrapped

if TYPE_CHECKING:
    from ohm_subagents.suite import JsonObject, ToolResult
    from ohm_subagents.views import View

NOTHING: Final = "(no output)"


def result_text(result: ToolResult, view: View) -> str:
    """Show the text, marked as a success or a failure once it is over."""
    text = result.text or NOTHING
    if "streaming" in result.details:
        return "\n".join(wrapped(text, view.width))
    token, mark = ("error", "✗ ") if has_failed(result.details) else ("success", "✓ ")
    return view.theme.fg(token, mark) + "\n".join(wrapped(text, view.width - cells(mark)))


def has_failed(details: JsonObject) -> bool:
    """Return True without an answer; one that is cut for the caller only, its `output` being whole, is a success."""
    results, error = details.get("results"), details.get("error")
    ended = [one.get("exitCode") for one in results if isinstance(one, dict)] if isinstance(results, list) else []
    is_cut = isinstance(error, dict) and error.get("code") == SubagentErrorCode.SUBAGENT_OUTPUT_TRUNCATED
    return any(code not in {None, 0} for code in ended) or (bool(error) and not (is_cut and ended))
