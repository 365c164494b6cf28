"""Every task.v1 tool after its payload is parsed: execute, show progress, project the reply."""

from __future__ import annotations

import json
import logging
import traceback
from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic_core import to_jsonable_python

from ohm_subagents._concurrency.faults import as_exception
from ohm_subagents._plugins.hooks.specs import PROJECT
from ohm_subagents._plugins.suites.tool import ToolResult
from ohm_subagents._tools.updates import Frames
from ohm_subagents._views.cells import wrapped
from ohm_subagents._views.debug import debug_text
from ohm_subagents._views.model_text import model_text
from ohm_subagents._views.projection import project
from ohm_subagents._views.reply_lines import lines_of
from ohm_subagents._views.theme import View
from ohm_subagents._views.view_text import frame_head, view_text
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.replies import CommandRejected
from ohm_subagents.contract.spelling import did_you_mean
from ohm_subagents.contract.text import encodable, encodable_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydantic import JsonValue

    from ohm_subagents._plugins.suites.interface import SuiteContext
    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents._plugins.suites.tool import JsonObject, Tool, ToolCall
    from ohm_subagents._views.reply_lines import ReplyLines
    from ohm_subagents.contract.commands import Command
    from ohm_subagents.contract.diagnostics import Diagnostic
    from ohm_subagents.contract.replies import Reply


logger = logging.getLogger(PROJECT)


async def run_command(
    command: Command,
    context: SuiteContext,
    call: ToolCall,
    *,
    result: Callable[[Reply], ToolResult],
    frame: Callable[[Reply], ToolResult],
    throttle_ms: int | None = None,
    beat_ms: int | None = None,
    observer: Observer | None = None,
) -> ToolResult:
    """Execute a command for a tool call, show its progress, and return its result.

    `result` makes the result of the last reply, `frame` that of one on the way, for `call.on_update`: at most one in
    `throttle_ms`, the configured time by default. With `beat_ms` a frame is shown that often even if nothing has
    changed, because what it says depends on the time.
    """
    if call.on_update is None:
        return result(await context.executor.execute(command, observer=observer, abort=call.abort))
    if throttle_ms is None:
        throttle_ms = context.settings().onupdate_throttle_ms
    frames = Frames(call.on_update, frame, throttle_ms=throttle_ms, beat_ms=beat_ms)
    async with frames.flowing():
        reply = await context.executor.execute(command, observer=observer, progress=frames, abort=call.abort)
        done = result(reply)
        frames.last(frame(reply))
    return done


def result_of(
    reply: Reply,
    context: SuiteContext,
    *,
    batch: bool = False,
    ignored: tuple[str, ...] = (),
    is_frame: bool = False,
) -> ToolResult:
    """Return the envelope for machines, its text for the model and its views for people; `ignored` are sentences.

    A frame is for people only: its text is the collapsed view, below how far things are where no host shows that.
    """
    settings, now_ms = context.settings(), context.clock() if is_frame else None
    cap, lines = settings.output_max_chars, lines_of(reply, batch=batch)
    envelope = project(lines, output_max_chars=cap)
    details: JsonObject = envelope.payload()
    if ignored:
        details["diagnostics"] = [*(envelope.diagnostics or ()), *ignored]

    def shown(view: View) -> str:
        now = context.settings()
        if now.debug:
            return "\n".join(wrapped(debug_text(envelope, expanded=view.expanded), view.width))
        return view_text(
            lines,
            expanded=view.expanded,
            output_max_chars=cap,
            width=view.width,
            tail_rows=now.transcript_tail_lines,
            wording=context.wording,
            now_ms=now_ms,
            theme=view.theme,
        )

    if now_ms is None:
        write = model_text
        if settings.model_text == "framed":
            from ohm_subagents._views.framed_text import framed_text as write  # noqa: PLC0415  most read the tree
        text = f"{write(lines, output_max_chars=cap, ignored=ignored)}{_how_to_collect(lines)}"
    else:
        status = context.host.status()
        head = None if status is None else frame_head(lines, status, now_ms=now_ms)
        text = "\n\n".join(filter(None, (head, shown(View()))))
    return ToolResult(
        text=text,
        details=details,
        is_error=envelope.status == "failed" or (envelope.op in {"start", "send"} and envelope.status == "cancelled"),
        view=shown,
        preview_max_lines=settings.result_preview_lines,
    )


def _how_to_collect(reply: ReplyLines) -> str:
    """Say what to do next about work that goes on in the background; empty for all other work."""
    ids = [task.id for task in reply.tasks if not task.is_terminal]
    if not ids or reply.op != "start":
        return ""
    waiting = json.dumps({"op": "wait", "ids": ids})
    return f"\n\nThe work goes on in the background. To get the answers, call task: {waiting}"


def unknown_tool(name: str, tools: Mapping[str, Tool], wrong: Iterable[Diagnostic] = ()) -> ToolResult:
    """Return the result of calling an unknown tool; a suite that could not be mounted may have had it."""
    mounted = f"{did_you_mean(name, tools)}Mounted tools: {', '.join(sorted(tools)) or 'none'}."
    error = OhmError(
        code=ErrorCode.UNKNOWN_TOOL,
        message=f"No tool is called '{encodable(name)}'.",
        advice=" ".join((mounted, *(one.message for one in wrong if one.severity == "error"))),
    )
    return refused(error)


def refused(error: OhmError) -> ToolResult:
    """Return the result of a call that no tool has answered."""
    envelope = project(lines_of(CommandRejected(error=error, backend="task")), output_max_chars=1)
    return ToolResult(text=str(error), details=envelope.payload(), is_error=True)


def as_json(arguments: object) -> JsonValue:
    """Return arguments as the JSON that they would be written as; a text says why if they cannot be written.

    Every text in them can be encoded, so no tool repeats half a character.
    """
    try:
        plain: JsonValue = to_jsonable_python(
            arguments, fallback=lambda value: type(value).__name__, bytes_mode="base64"
        )
        return encodable_json(plain)
    except (ValueError, RecursionError) as exc:
        return f"arguments that are no JSON: {exc}"


def guarded_tool(tool: Tool) -> Tool:
    """Return the tool with an exception as the result of its call: nothing else is lost. The log holds no secret."""

    async def execute(call: ToolCall) -> ToolResult:
        try:
            return await tool.execute(call)
        except BaseException as exc:  # noqa: BLE001  a plugin may raise anything; it costs this call only
            raised = as_exception(exc)
            trace = call.redaction.text("".join(traceback.format_exception(exc)))
            logger.error("Tool %s raised.\n%s", tool.name, trace)  # noqa: TRY400  a traceback may hold a secret
            message = f"Tool '{tool.name}' failed: {str(raised).rstrip('.')}."
            return failed(tool, OhmError(code=ErrorCode.TOOL_FAILED, message=message))

    return replace(tool, execute=execute)


def failed(tool: Tool, error: OhmError) -> ToolResult:
    """Return the result of a call that came to nothing, in the words of the tool."""
    return refused(error) if tool.failure is None else tool.failure(error)
