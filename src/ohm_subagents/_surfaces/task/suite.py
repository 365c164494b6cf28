"""The `task` tool."""

from __future__ import annotations

from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING

from ohm_subagents._plugins.interfaces import Tool, ToolResult, ToolSuiteSpec
from ohm_subagents._surfaces.task.inputs import StartBatch, StartSingle, parse
from ohm_subagents._surfaces.updates import Frames
from ohm_subagents._views.projection import project
from ohm_subagents._views.text import model_text, view_text
from ohm_subagents.contract.commands import Rejected
from ohm_subagents.contract.result import Err, Ok

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ohm_subagents._plugins.interfaces import JsonObject, SuiteContext, ToolCall
    from ohm_subagents.contract.commands import Started

NAME = "task"


def task_suite() -> ToolSuiteSpec:
    """The suite of 004's orchestration tool."""
    return ToolSuiteSpec(name=NAME, summary="Delegate tasks to subagents (task.v1).", build=_build)


def _build(context: SuiteContext) -> tuple[Tool, ...]:
    return (
        Tool(
            name=NAME,
            label="Task",
            description=_description(context),
            input_schema=_schema(),
            execute=partial(_execute, context),
            render_call=_call_line,
        ),
    )


async def _execute(context: SuiteContext, call: ToolCall) -> ToolResult:
    match parse(call.arguments):
        case Err(error):
            return _result(Rejected(error=error, backend=NAME), context, batch=False)
        case Ok(understood):
            show = partial(_result, context=context, batch=understood.batch, ignored=understood.ignored)
            throttle_ms = context.settings.onupdate_throttle_ms
            frames = None if call.on_update is None else Frames(call.on_update, show, throttle_ms=throttle_ms)
            return show(await context.executor.execute(understood.command, observer=frames))


def _result(
    reply: Started | Rejected, context: SuiteContext, *, batch: bool, ignored: tuple[str, ...] = ()
) -> ToolResult:
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


def _description(context: SuiteContext) -> str:
    roster = [
        line
        for profile in context.profiles()
        for line in (
            f"- {profile.id} ({'primary-tool' if profile.primary else 'task-routed'}): {profile.summary}",
            "  whenToUse:",
            *(f"  - {use}" for use in profile.when_to_use),
        )
    ]
    text = files("ohm_subagents._surfaces.task").joinpath("description.md").read_text(encoding="utf-8")
    return "\n".join([text.rstrip(), *roster])


def _schema() -> JsonObject:
    """One flat object, as hosts expect of a tool: every field of both forms, only `op` required."""
    single, batch = StartSingle.model_json_schema(), StartBatch.model_json_schema()
    properties = {**single["properties"], **batch["properties"]}
    return {
        "type": "object",
        "properties": properties,
        "required": ["op"],
        "additionalProperties": False,
        "$defs": batch["$defs"],
    }


def _call_line(arguments: JsonValue) -> str:
    match parse(arguments):
        case Ok(understood) if understood.batch:
            return f"task start batch ({len(understood.command.items)})"
        case Ok(understood):
            item = understood.command.items[0]
            return f"task start {item.profile} · {item.description}"
        case Err():
            op = arguments.get("op") if isinstance(arguments, dict) else None
            return f"task {op if isinstance(op, str) else 'unknown'}"
