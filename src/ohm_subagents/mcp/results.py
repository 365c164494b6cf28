"""Tool results and tasks as MCP has them; pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations

from ohm_subagents.suite import ToolResult
from ohm_subagents.views import task_envelope, task_text

if TYPE_CHECKING:
    from ohm_subagents.contract import Task
    from ohm_subagents.suite import Tool as OhmTool

ENVELOPE: Final = "ohm/envelope"
"""The key of `_meta` with the envelope of a result."""
_ANY_OBJECT: Final = {"type": "object"}


def tool_entry(tool: OhmTool, *, structured: bool, more: str = "") -> Tool:
    """Describe a tool for a client; `more` is a further paragraph."""
    rules = "".join(f"\n- {rule}" for rule in tool.prompt_guidelines)
    parts = (tool.description, more, f"Rules:{rules}" if rules else "")
    return Tool(
        name=tool.name,
        title=tool.label,
        description="\n\n".join(filter(None, parts)),
        input_schema=dict(tool.input_schema),
        output_schema=dict(_ANY_OBJECT) if structured else None,
        annotations=ToolAnnotations(title=tool.label),
    )


def call_result(result: ToolResult, *, structured: bool) -> CallToolResult:
    """Return the result of a call: its text, and its envelope in `_meta`."""
    return CallToolResult(
        content=[TextContent(type="text", text=result.text)],
        structured_content=dict(result.details) if structured else None,
        is_error=result.is_error,
        _meta={ENVELOPE: result.details},
    )


def kept_result(task: Task, *, output_max_chars: int) -> ToolResult:
    """Return the result of the call that has started a task, made of what is kept of the task."""
    return ToolResult(
        text=task_text(task, output_max_chars=output_max_chars),
        details=task_envelope(task, output_max_chars=output_max_chars).payload(),
        is_error=task.status != "succeeded",
    )


def progress_line(frame: ToolResult) -> str:
    """Return one line about how far a call is."""
    lines = (frame.details.get("activity"), frame.details.get("summary"), *frame.text.splitlines())
    return next((line.strip() for line in lines if isinstance(line, str) and line.strip()), "")


def instant(epoch_ms: int) -> str:
    """Write a time as ISO 8601 has it, in UTC."""
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).isoformat(timespec="milliseconds")
