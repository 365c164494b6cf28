"""The four tools of the suite."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from ohm_subagents.suite import (
    CommandRejected,
    Err,
    ErrorCode,
    Ok,
    Tool,
    ToolResult,
    run_command,
    suite_options,
    telling_unknown_keys,
)
from ohm_subagents.suites.delegate import SUITE, windows
from ohm_subagents.suites.delegate.agents import AgentRepository
from ohm_subagents.suites.delegate.claims import claims
from ohm_subagents.suites.delegate.delegation import Delegation
from ohm_subagents.suites.delegate.inputs import (
    DELEGATE_SCHEMA,
    EMPTY_SCHEMA,
    SESSION_SCHEMA,
    parse_delegation,
    parse_session,
)
from ohm_subagents.suites.delegate.options import DelegateOptions
from ohm_subagents.suites.delegate.outcome import result_text
from ohm_subagents.suites.delegate.profile_summary import profile_summary
from ohm_subagents.suites.delegate.sessions import Sessions
from ohm_subagents.suites.delegate.settings import DelegateSettings, load_settings
from ohm_subagents.suites.delegate.transcripts import output_text, session_text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ohm_subagents.suite import JsonObject, Reply, SuiteContext, ToolCall
    from ohm_subagents.suites.delegate.details import SessionRun
    from ohm_subagents.views import View

INVALID: Final = "invalid_arguments"
THROTTLE_MS: Final = 50
BEAT_MS: Final = 1000
DEFAULT_LINES: Final = DelegateSettings().max_lines_per_window
NO_PROFILES: Final = "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ or .pi/agent-profiles/."


def build(context: SuiteContext) -> tuple[Tool, ...]:
    """Return the four tools."""
    options = suite_options(DelegateOptions, context.settings().options, suite=SUITE)
    agents = AgentRepository(context.place, context.clock)
    sessions = context.remember("sessions", Sessions(context))
    sessions.hear(context)
    context.host.on("session_start", partial(_session_start, sessions))
    context.host.on("session_shutdown", partial(_session_shutdown, sessions))
    tools = (
        Tool(
            checks_arguments=True,
            name="delegate_to_subagents",
            label="Delegate to Sub-agents",
            description=_description("delegate_to_subagents"),
            input_schema=DELEGATE_SCHEMA,
            execute=partial(_delegate, context, sessions, agents, options),
            call_view=partial(windows.call_line, "delegate_to_subagents"),
            result_view=partial(_windows_view, context),
        ),
        _retrieval("get_subagent_output", "Get Sub-agent Output", partial(_retrieve, context, sessions, _output)),
        _retrieval("get_subagent_session", "Get Sub-agent Session", partial(_retrieve, context, sessions, _session)),
        Tool(
            checks_arguments=True,
            name="list_subagent_profiles",
            label="List Sub-agent Profiles",
            description=_description("list_subagent_profiles"),
            input_schema=EMPTY_SCHEMA,
            execute=partial(_list_profiles, agents),
            call_view=partial(windows.call_line, "list_subagent_profiles"),
            result_view=_whole,
        ),
    )
    return tuple(telling_unknown_keys(tool, is_deep=False) for tool in tools)


def _retrieval(name: str, label: str, execute: Callable[[ToolCall], Awaitable[ToolResult]]) -> Tool:
    return Tool(
        checks_arguments=True,
        name=name,
        label=label,
        description=_description(name),
        input_schema=SESSION_SCHEMA,
        execute=execute,
        call_view=partial(windows.call_line, name),
        result_view=_truncated,
    )


def _description(tool: str) -> str:
    return files("ohm_subagents.suites.delegate").joinpath(f"{tool}.md").read_text(encoding="utf-8").rstrip()


async def _session_start(sessions: Sessions, event: JsonObject) -> None:
    if event.get("reason") != "new":
        sessions.replay()


async def _session_shutdown(sessions: Sessions, event: JsonObject) -> None:
    del event
    sessions.clear()


async def _delegate(
    context: SuiteContext, sessions: Sessions, agents: AgentRepository, options: DelegateOptions, call: ToolCall
) -> ToolResult:
    match parse_delegation(call.arguments):
        case Err(wrong):
            return _refused(wrong)
        case Ok(asked):
            resumed = (task.resume for task in asked.tasks if task.resume is not None)
            with claims(context.place.kept_in, resumed) as busy:
                return await _carried_out(
                    context, Delegation(asked, context, sessions, agents, options, busy=busy), call
                )


async def _carried_out(context: SuiteContext, delegation: Delegation, call: ToolCall) -> ToolResult:
    def frame(reply: Reply) -> ToolResult:
        seen = delegation.seen(reply)
        return _with_windows(context, windows.summary_text([window.status for window in seen.windows]), seen.payload())

    def result(reply: Reply) -> ToolResult:
        if isinstance(reply, CommandRejected):
            return _refused(str(reply.error), reply.error.code)
        seen = delegation.seen(reply)
        done = _with_windows(context, result_text(seen), seen.payload())
        return replace(done, has_failed=any(window.status == "error" for window in seen.windows))

    command = await delegation.command()
    if isinstance(command, Err):
        return _refused(command.err_value.message, command.err_value.code)
    return await run_command(
        command.ok_value,
        context,
        call,
        frame=frame,
        result=result,
        observer=delegation,
        throttle_ms=THROTTLE_MS,
        beat_ms=BEAT_MS,
    )


def _refused(message: str, code: str = INVALID) -> ToolResult:
    """Return the error for a host that raises exceptions; machines get the code as well."""
    return ToolResult(text=message, details={"errorCode": code, "errorMessage": message}, is_error=True)


def _with_windows(context: SuiteContext, text: str, details: JsonObject) -> ToolResult:
    shown = ToolResult(text=text, details=details)
    return ToolResult(text=text, details=details, view=partial(_windows_view, context, shown))


def _windows_view(context: SuiteContext, result: ToolResult, view: View) -> str:
    return windows.windows_text(result.details, view, now_ms=context.clock())


def _truncated(result: ToolResult, view: View) -> str:
    max_lines = result.details.get("maxLines")
    return windows.truncated_text(result.text, max_lines if isinstance(max_lines, int) else DEFAULT_LINES, view)


def _whole(result: ToolResult, view: View) -> str:
    return windows.simple_text(result.text, view)


Shown = tuple[str, "JsonObject"]


async def _retrieve(
    context: SuiteContext, sessions: Sessions, show: Callable[[tuple[SessionRun, ...]], Shown], call: ToolCall
) -> ToolResult:
    match parse_session(call.arguments):
        case Err(wrong):
            return _refused(wrong)
        case Ok(asked):
            runs = await sessions.find(asked.session_id)
    if not runs:
        why = f'Session "{asked.session_id}" not found. The session may have expired or the ID is incorrect.'
        return _refused(why, ErrorCode.SESSION_NOT_FOUND)
    text, more = show(runs)
    latest = runs[-1]
    details: JsonObject = {
        "sessionId": asked.session_id,
        "status": latest.status,
        "taskName": latest.task_name,
        **more,
        "runCount": len(runs),
        "maxLines": load_settings(context.place)[0].max_lines_per_window,
    }
    shown = ToolResult(text=text, details=details)
    return ToolResult(text=text, details=details, view=partial(_truncated, shown))


def _output(runs: tuple[SessionRun, ...]) -> Shown:
    return output_text(runs[-1]), {}


def _session(runs: tuple[SessionRun, ...]) -> Shown:
    latest = runs[-1]
    more: JsonObject = {"messageCount": sum(len(run.messages) for run in runs), "exitCode": latest.exit_code}
    if latest.model is not None:
        more["model"] = latest.model
    return session_text(runs), more


async def _list_profiles(agents: AgentRepository, call: ToolCall) -> ToolResult:
    del call
    summaries = {name: profile_summary(profile) for name, profile in agents.roster().profiles.items()}
    if not summaries:
        return ToolResult(text=NO_PROFILES, details={"count": 0})
    return ToolResult(text="\n".join(summaries.values()), details={"count": len(summaries), "profiles": {**summaries}})
