"""What every task.v1 tool does once its payload is understood: execute, show progress, project the reply."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ohm_subagents._plugins.interfaces import ToolResult
from ohm_subagents._surfaces.updates import Frames
from ohm_subagents._views.debug import debug_text
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
    throttle_ms = context.settings().onupdate_throttle_ms
    frames = Frames(call.on_update, lambda reply: _as_frame(show(reply), context), throttle_ms=throttle_ms)
    async with frames.flowing():
        result = show(await context.executor.execute(command, progress=frames, abort=call.abort))
        frames.last(_as_frame(result, context))
    return result


def _as_frame(result: ToolResult, context: SuiteContext) -> ToolResult:
    """The text of a frame is for a person: the collapsed view, headed by the status line where no host shows it."""
    status = context.status()
    return replace(result, text="\n\n".join(filter(None, (status, result.render()))))


def result_of(reply: Reply, context: SuiteContext, *, batch: bool = False, ignored: tuple[str, ...] = ()) -> ToolResult:
    """The envelope for machines, its text for the model, its views for people."""
    settings = context.settings()
    cap = settings.output_max_chars
    envelope = project(reply, batch=batch, output_max_chars=cap)
    details: JsonObject = envelope.payload()
    if ignored:
        noted: list[JsonValue] = [f"Ignored unknown key '{key}'." for key in ignored]
        details["diagnostics"] = [*(envelope.diagnostics or ()), *noted]

    def view(expanded: bool, width: int) -> str:  # noqa: FBT001  ToolResult calls it
        now = context.settings()
        if now.debug:
            return debug_text(envelope, expanded=expanded)
        return view_text(
            reply,
            batch=batch,
            expanded=expanded,
            output_max_chars=cap,
            width=width,
            tail_rows=now.transcript_tail_lines,
            wording=context.wording,
        )

    return ToolResult(
        text=model_text(reply, batch=batch, output_max_chars=cap),
        details=details,
        is_error=envelope.status == "failed" or (envelope.op in {"start", "send"} and envelope.status == "cancelled"),
        view=view,
        preview_max_lines=settings.result_preview_lines,
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
