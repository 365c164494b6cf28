"""What every task.v1 tool does once its payload is understood: execute, show progress, project the reply."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ohm_subagents._plugins.interfaces import ToolResult
from ohm_subagents._surfaces.updates import Frames
from ohm_subagents._views.projection import project
from ohm_subagents._views.text import model_text, view_text

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ohm_subagents._plugins.interfaces import JsonObject, SuiteContext, ToolCall
    from ohm_subagents.contract.commands import Command, Reply


async def carry_out(
    command: Command, context: SuiteContext, call: ToolCall, *, batch: bool = False, ignored: tuple[str, ...] = ()
) -> ToolResult:
    """Execute a command for a tool call; progress frames are results like the last one."""
    show = partial(result_of, context=context, batch=batch, ignored=ignored)
    frames = None
    if call.on_update is not None:
        frames = Frames(call.on_update, show, throttle_ms=context.settings.onupdate_throttle_ms)
    return show(await context.executor.execute(command, observer=frames, abort=call.abort))


def result_of(reply: Reply, context: SuiteContext, *, batch: bool = False, ignored: tuple[str, ...] = ()) -> ToolResult:
    """The envelope for machines, its text for the model, its views for people."""
    cap = context.settings.output_max_chars
    envelope = project(reply, batch=batch, output_max_chars=cap)
    details: JsonObject = envelope.payload()
    if ignored:
        noted: list[JsonValue] = [f"Ignored unknown key '{key}'." for key in ignored]
        details["diagnostics"] = [*(envelope.diagnostics or ()), *noted]
    return ToolResult(
        text=model_text(reply, batch=batch, output_max_chars=cap),
        details=details,
        is_error=envelope.status == "failed",
        view=lambda expanded, width: view_text(
            reply, batch=batch, expanded=expanded, output_max_chars=cap, width=width
        ),
    )
