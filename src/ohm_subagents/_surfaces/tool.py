"""What every task.v1 tool does once its payload is understood: execute, show progress, project the reply."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ohm_subagents._plugins.interfaces import ToolResult
from ohm_subagents._surfaces.updates import Frames
from ohm_subagents._views.projection import project
from ohm_subagents._views.text import model_text, view_text
from ohm_subagents.contract.errors import ErrorCode, OhmError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from ohm_subagents._plugins.interfaces import JsonObject, SuiteContext, Tool, ToolCall
    from ohm_subagents.contract.commands import Command, Reply


async def carry_out(
    command: Command, context: SuiteContext, call: ToolCall, *, batch: bool = False, ignored: tuple[str, ...] = ()
) -> ToolResult:
    """Execute a command for a tool call; progress frames are results like the last one."""
    show = partial(result_of, context=context, batch=batch, ignored=ignored)
    if call.on_update is None:
        return show(await context.executor.execute(command, abort=call.abort))
    frames = Frames(call.on_update, show, throttle_ms=context.settings().onupdate_throttle_ms)
    async with frames.flowing():
        result = show(await context.executor.execute(command, progress=frames, abort=call.abort))
        frames.last(result)
    return result


def result_of(reply: Reply, context: SuiteContext, *, batch: bool = False, ignored: tuple[str, ...] = ()) -> ToolResult:
    """The envelope for machines, its text for the model, its views for people."""
    cap = context.settings().output_max_chars
    envelope = project(reply, batch=batch, output_max_chars=cap)
    details: JsonObject = envelope.payload()
    if ignored:
        noted: list[JsonValue] = [f"Ignored unknown key '{key}'." for key in ignored]
        details["diagnostics"] = [*(envelope.diagnostics or ()), *noted]
    return ToolResult(
        text=model_text(reply, batch=batch, output_max_chars=cap),
        details=details,
        is_error=envelope.status == "failed" or (envelope.op in {"start", "send"} and envelope.status == "cancelled"),
        view=lambda expanded, width: view_text(
            reply, batch=batch, expanded=expanded, output_max_chars=cap, width=width
        ),
    )


def unknown_tool(name: str, tools: Mapping[str, Tool]) -> ToolResult:
    """The result of calling a tool that is not there."""
    error = OhmError(
        code=ErrorCode.UNKNOWN_TOOL,
        message=f"No tool is called '{name}'.",
        advice=f"Mounted tools: {', '.join(sorted(tools)) or 'none'}.",
    )
    details: JsonObject = {
        "status": "failed",
        "error_code": str(error.code),
        "error_category": str(error.resolved_category),
        "error_message": str(error),
    }
    return ToolResult(text=str(error), details=details, is_error=True)
