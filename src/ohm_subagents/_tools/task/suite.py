"""The `task` tool."""

from __future__ import annotations

from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from ohm_subagents._plugins.suites.interface import ToolSuiteSpec
from ohm_subagents._plugins.suites.tool import Tool
from ohm_subagents._tools.task.inputs import TaskInput, parse, told_ops
from ohm_subagents._tools.task.schema import schema
from ohm_subagents._tools.tool import result_of, run_command
from ohm_subagents._views.cells import one_line
from ohm_subagents.contract.commands import Start
from ohm_subagents.contract.replies import CommandRejected
from ohm_subagents.contract.result import Err, Ok

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ohm_subagents._plugins.suites.interface import SuiteContext
    from ohm_subagents._plugins.suites.settings import Settings
    from ohm_subagents._plugins.suites.tool import ToolCall, ToolResult
    from ohm_subagents._views.theme import Theme

NAME = "task"
_SYNCHRONOUS = "Subagent starts are synchronous and blocking. Async/background start mode is disabled."
_EITHER_WAY = (
    "A start blocks until its answer is there; with async: true it returns the task ids at once, the tasks go on in the"
    " background, and op=wait with these ids gives their answers."
)
_GOES_ON = " A start that takes long goes on in the background by itself, and returns the task ids then."
_ANSWERED = (
    " A task may ask for an approval, or ask a question: a wait ends then, status shows the request with its id, and"
    " op=answer with request and decision answers it."
)

_LANDS = (
    " What a task has changed in a clone of the files is kept apart: op=land with its id makes it to the files here,"
    " all of it or nothing where it conflicts, and op=discard removes it."
)


def task_suite() -> ToolSuiteSpec:
    """Return the suite of the orchestration tool `task`."""
    return ToolSuiteSpec(name=NAME, summary="Delegate tasks to subagents (task.v1).", build=_build)


def _build(context: SuiteContext) -> tuple[Tool, ...]:
    more: tuple[Tool, ...] = ()
    if context.settings().model_text == "framed":
        from ohm_subagents._tools.task.read_result import read_result_tool  # noqa: PLC0415  most read the tree

        more = (read_result_tool(context),)
    return (
        Tool(
            checks_arguments=True,
            name=NAME,
            label="Task",
            description=_description(context),
            input_schema=_schema(context.settings()),
            execute=partial(_execute, context),
            call_view=_call_line,
        ),
        *more,
    )


def _schema(settings: Settings) -> dict[str, Any]:
    asked = {"starts_async": settings.starts_async, "answers": settings.answers, "lands": settings.lands}
    return schema(**asked, models=settings.models)


async def _execute(context: SuiteContext, call: ToolCall) -> ToolResult:
    settings = context.settings()
    match parse(call.arguments, models=settings.models, answers=settings.answers):
        case Err(misunderstood):
            refused = CommandRejected(error=misunderstood.error, backend=NAME, op=misunderstood.op)
            return result_of(refused, context, ignored=misunderstood.ignored)
        case Ok(understood):
            unheeded = settings.unheeded if isinstance(understood.command, Start) else ()
            ignored = (*understood.ignored, *unheeded)
            show = partial(result_of, context=context, batch=understood.batch, ignored=ignored)
            frame = partial(show, is_frame=True)
            return await run_command(understood.command, context, call, result=show, frame=frame)


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
    starts = _EITHER_WAY if context.settings().starts_async else _SYNCHRONOUS
    starts += _GOES_ON if context.settings().goes_on else ""
    starts += _ANSWERED if context.settings().answers else ""
    starts += _LANDS if context.settings().lands else ""
    ops = "/".join(told_ops(answers=context.settings().answers, lands=context.settings().lands))
    return "\n".join([_general().replace("{ops}", ops).replace("{starts}", starts), *roster])


@cache
def _general() -> str:
    """Return what the description says of every roster."""
    return files("ohm_subagents._tools.task").joinpath("description.md").read_text(encoding="utf-8").rstrip()


def _call_line(arguments: JsonValue, _theme: Theme) -> str:
    match parse(arguments):
        case Ok(TaskInput(command=Start(items=items), batch=True)):
            return f"task start batch ({len(items)})"
        case Ok(TaskInput(command=Start(items=(item, *_)))):
            return one_line(f"task start {item.profile} · {item.description}")
        case Ok(TaskInput(command=command)):
            return f"task {command.op}"
        case Err():
            op = arguments.get("op") if isinstance(arguments, dict) else None
            return one_line(f"task {op if isinstance(op, str) else 'unknown'}")
