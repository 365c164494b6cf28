"""The tool `subagent`: one agent, one task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files as resources
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents.suite import (
    AgentOptions,
    CommandRejected,
    Err,
    ItemRejected,
    LoopPolicy,
    Overrides,
    Start,
    StartItem,
    StartReply,
    Tool,
    ToolPolicy,
    ToolResult,
    run_command,
    title_of,
)
from ohm_subagents.suites.single.attempts import Attempts
from ohm_subagents.suites.single.child_prompt import child_prompt
from ohm_subagents.suites.single.child_run import RUNNING, ChildRun
from ohm_subagents.suites.single.details import Details, SubagentErrorCode
from ohm_subagents.suites.single.files import SuiteFiles
from ohm_subagents.suites.single.inputs import SUBAGENT_SCHEMA, SubagentInput, parse_input
from ohm_subagents.suites.single.limits import limits_of
from ohm_subagents.suites.single.outcome import DISABLED, not_begun, refused, result_of
from ohm_subagents.suites.single.session_file import SessionFiles
from ohm_subagents.suites.single.tool_policy import LSP, lsp_actions, tools_of, withheld
from ohm_subagents.suites.single.verdict import is_worth_another
from ohm_subagents.suites.single.views import has_failed, result_text
from ohm_subagents.views import call_line

if TYPE_CHECKING:
    from pydantic import JsonValue

    from ohm_subagents.redaction import Redaction
    from ohm_subagents.suite import OhmError, Profile, Reply, SuiteContext, ToolCall
    from ohm_subagents.suites.single.settings import SingleSettings

TOOL: Final = "subagent"
_LOOP: Final = LoopPolicy(same_results=0)
"""Searches that find nothing end no run: it is limited by time and size."""
SNIPPET: Final = "Delegate one focused task to a specialised subagent"
GUIDELINES: Final = (
    "Use subagent for a focused task that needs much reading and a short answer: exploring, reviewing, researching, "
    "planning a change or tests.",
    "Give subagent everything it has to know in the task: it sees nothing of this conversation.",
    "Do a small task yourself, and check what a subagent reports before you act on it.",
)


@cache
def _description() -> str:
    return resources("ohm_subagents.suites.single").joinpath(f"{TOOL}.md").read_text(encoding="utf-8").rstrip()


def build(context: SuiteContext) -> tuple[Tool, ...]:
    """Make the tool; none for a subagent, and none where subagents are switched off."""
    files = SuiteFiles(context)
    context.report(files.diagnostics)
    settings = files.settings()
    if context.place.nesting.is_child or not settings.enabled:
        return ()
    return (
        Tool(
            checks_arguments=True,
            name=TOOL,
            label="Subagent",
            description=_description(),
            input_schema=SUBAGENT_SCHEMA,
            execute=partial(_subagent, context, files),
            call_view=partial(call_line, "subagent", argument="agent"),
            result_view=result_text,
            failure=_raised,
            prompt_snippet=SNIPPET if settings.injects_policy else "",
            prompt_guidelines=GUIDELINES if settings.injects_policy else (),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Invocation:
    """A call that may be carried out; `depth` is the level of the new subagent."""

    asked: SubagentInput
    agent: Profile
    settings: SingleSettings
    depth: int
    max_depth: int


async def _subagent(context: SuiteContext, files: SuiteFiles, call: ToolCall) -> ToolResult:
    match _ordered(context, files, call.arguments):
        case _Invocation() as order:
            return _viewed(await _carried_out(context, call, order))
        case refusal:
            return _viewed(refusal)


def _ordered(context: SuiteContext, files: SuiteFiles, arguments: JsonValue) -> _Invocation | ToolResult:
    """Return the call as an order, or the result that refuses it; an unreadable depth is too deep."""
    settings, nesting = files.settings(), context.place.nesting
    max_depth = settings.max_depth if nesting.max_depth is None else nesting.max_depth
    if nesting.depth is None or nesting.depth >= max_depth:
        depth = "?" if nesting.depth is None else nesting.depth
        message = f"Subagent depth exceeded ({depth}/{max_depth}). Nested subagents are not allowed."
        return refused(SubagentErrorCode.SUBAGENT_DEPTH_EXCEEDED, message, mode="management")
    if not settings.enabled:
        return refused(SubagentErrorCode.SUBAGENTS_DISABLED, DISABLED)
    parsed = parse_input(arguments)
    if isinstance(parsed, Err):
        return refused(SubagentErrorCode.INVALID_INPUT, parsed.err_value)
    asked, agents = parsed.ok_value, files.agents()
    agent = agents.get(asked.agent)
    if agent is None:
        message = f"Unknown agent: {asked.agent}. Available agents: {', '.join(agents) or '(none)'}"
        return refused(SubagentErrorCode.UNKNOWN_AGENT, message)
    return _Invocation(asked=asked, agent=agent, settings=settings, depth=nesting.depth + 1, max_depth=max_depth)


async def _carried_out(context: SuiteContext, call: ToolCall, order: _Invocation) -> ToolResult:
    redaction = call.redaction
    try:
        records = SessionFiles.create(context, redaction)
    except (OSError, ValueError) as error:
        why = f"Failed to create session directory: {getattr(error, 'strerror', None) or error}"
        return refused(SubagentErrorCode.SUBAGENT_FAILED, why)
    asked, scope = replace(order.asked, task=redaction.text(order.asked.task)), anyio.CancelScope()
    run = ChildRun(asked.task, records, stop=scope.cancel)

    def frame(_reply: Reply) -> ToolResult:
        details = Details(run_id=run.run_id, streaming=run.streaming())
        return _viewed(ToolResult(text=run.last_text or RUNNING, details=details.payload()))

    def ended() -> ToolResult:
        done = result_of(run, asked, order.settings)
        return replace(done, text=redaction.composed(done.text))

    def result(reply: Reply) -> ToolResult:
        match reply:
            case CommandRejected(error=error) | StartReply(items=(ItemRejected(error=error),)):
                return not_begun(error, max_depth=order.max_depth)
            case _:
                return ended()

    settings = order.settings
    attempts = Attempts(
        context.executor,
        most=settings.max_attempts if settings.retries else 1,
        again=lambda: is_worth_another(run.task, settings, said=run.last_said),
    )
    inner = replace(context, executor=attempts)
    command = Start(items=(_item(order, redaction),), max_depth=order.max_depth)
    with scope:
        return await run_command(command, inner, call, frame=frame, result=result, observer=run)
    return ended()


def _raised(error: OhmError) -> ToolResult:
    return _viewed(refused(SubagentErrorCode.SUBAGENT_FAILED, str(error)))


def _viewed(result: ToolResult) -> ToolResult:
    return replace(result, view=partial(result_text, result), has_failed=has_failed(result.details))


def _prepared(order: _Invocation) -> Profile:
    """Give the agent the tools that it may have, and a prompt with all of its constraints."""
    agent, settings = order.agent, order.settings
    options = agent.agent or AgentOptions()
    tools = tools_of(agent.tools.allowed, settings, is_readonly=options.is_readonly)
    prompt = child_prompt(
        agent=agent.name,
        role=agent.prompt,
        task=order.asked.task,
        tools=tools,
        is_readonly=options.is_readonly or not settings.allow_write,
        depth=order.depth,
        max_depth=order.max_depth,
    )
    variables = (
        ("PI_SUBAGENT_MAX_DEPTH", f"{order.max_depth}"),
        ("PI_SUBAGENT_ALLOW_LSP", "1" if settings.allow_lsp_tools else "0"),
        ("PI_SUBAGENT_LSP_ACTIONS", ",".join(settings.allowed_lsp_actions)),
    )
    return replace(
        agent,
        prompt=prompt,
        tools=ToolPolicy(allowed=tools),
        agent=replace(
            options,
            variables=variables,
            actions=((LSP, lsp_actions(settings)),),
        ),
        notes=(*agent.notes, *withheld(agent.tools.allowed, tools, settings)),
    )


def _item(order: _Invocation, redaction: Redaction) -> StartItem:
    asked, settings = order.asked, order.settings
    return StartItem(
        profile=_prepared(order),
        description=title_of(asked.task, redaction),
        prompt=asked.task,
        overrides=Overrides(limits=limits_of(settings), loop=_LOOP),
        is_one_shot=True,
        redaction=redaction,
    )
