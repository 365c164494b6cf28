"""The direct tools. Both routes, `task` and direct, run the same command and give the same envelope."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ohm_subagents._plugins.suites.interface import ToolSuiteSpec
from ohm_subagents._plugins.suites.tool import Tool
from ohm_subagents._tools.primary.inputs import inputs_of, parse, schema_of
from ohm_subagents._tools.tool import result_of, run_command
from ohm_subagents._views.cells import one_line
from ohm_subagents.contract.commands import Start
from ohm_subagents.contract.replies import CommandRejected
from ohm_subagents.contract.result import Err, Ok

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ohm_subagents._plugins.suites.interface import SuiteContext
    from ohm_subagents._plugins.suites.tool import ToolCall, ToolResult
    from ohm_subagents._views.theme import Theme
    from ohm_subagents.contract.profile import Profile


def primary_suite() -> ToolSuiteSpec:
    """Return the suite of the primary tools, one for each profile marked `primary`."""
    return ToolSuiteSpec(name="primary", summary="A direct tool for each primary subagent (task.v1).", build=_build)


def _build(context: SuiteContext) -> tuple[Tool, ...]:
    return tuple(_tool(context, profile) for profile in context.profiles() if profile.primary)


def _tool(context: SuiteContext, profile: Profile) -> Tool:
    return Tool(
        checks_arguments=True,
        name=profile.id,
        label=profile.name,
        description=_description(profile),
        input_schema=schema_of(profile, starts_async=context.settings().starts_async),
        execute=partial(_execute, context, profile),
        call_view=partial(_call_line, profile),
    )


async def _execute(context: SuiteContext, profile: Profile, call: ToolCall) -> ToolResult:
    match parse(profile, call.arguments):
        case Err(misunderstood):
            refused = CommandRejected(
                error=misunderstood.error, backend="task", profile=profile.id, invocation="primary-tool"
            )
            return result_of(refused, context, ignored=misunderstood.ignored)
        case Ok(understood):
            command = Start(items=(understood.item,), background=understood.background, may_go_on=True)
            show = partial(result_of, context=context, ignored=(*understood.ignored, *context.settings().unheeded))
            return await run_command(command, context, call, result=show, frame=partial(show, is_frame=True))


def _description(profile: Profile) -> str:
    fields = ", ".join(
        f"{field.name}{'[]' if field.role == 'files' else ''} ({'required' if field.required else 'optional'})"
        for field in inputs_of(profile)
        if field.role != "description"
    )
    uses = "\n".join(f"- {use}" for use in profile.when_to_use)
    sections = [
        profile.summary,
        f"When to use:\n{uses}" if uses else "",
        f"Invocation mode: primary-tool\nTask route still available via: task op=start subagent_type={profile.id}",
        f"Input: {fields}",
    ]
    return "\n\n".join(section for section in sections if section)


def _call_line(profile: Profile, arguments: JsonValue, _theme: Theme) -> str:
    match parse(profile, arguments):
        case Ok(understood):
            return one_line(f"{profile.id} · {understood.item.description}")
        case Err():
            return profile.id
