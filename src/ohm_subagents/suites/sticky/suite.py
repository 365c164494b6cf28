"""The tool `subagent`: one agent that keeps its context."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from importlib.resources import files as resources
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents.suite import (
    FINALIZE_GUIDELINE,
    UNREADABLE_SESSION,
    AgentOptions,
    ClosedError,
    Err,
    Ok,
    Start,
    StartItem,
    Tool,
    ToolPolicy,
    ToolResult,
    finalize_tool,
    followed,
    suite_options,
    title_of,
)
from ohm_subagents.suites.sticky.agents import CHILD_VARIABLE
from ohm_subagents.suites.sticky.files import SuiteFiles
from ohm_subagents.suites.sticky.inputs import SUBAGENT_SCHEMA, Asked, parse_asked
from ohm_subagents.suites.sticky.limits import late, limits_of
from ohm_subagents.suites.sticky.options import StickyOptions, expanded
from ohm_subagents.suites.sticky.outcome import CANCELLED, failed, final_of, noted, result_of
from ohm_subagents.suites.sticky.progress import said_so_far
from ohm_subagents.suites.sticky.roster import roster_names, roster_text
from ohm_subagents.suites.sticky.sessions import StickySession
from ohm_subagents.suites.sticky.tools import tools_of
from ohm_subagents.suites.sticky.turns import Turns
from ohm_subagents.suites.sticky.views import call_line, result_text

if TYPE_CHECKING:
    from ohm_subagents.redaction import Redaction
    from ohm_subagents.suite import Event, Finalized, Profile, Reply, SuiteContext, Task, ToolCall

TOOL: Final = "subagent"


def build(context: SuiteContext) -> tuple[Tool, ...]:
    """For the process of an agent, only what it hands in its answer with; no other subagent is given anything."""
    options = suite_options(StickyOptions, context.settings().options, suite="sticky")
    files = SuiteFiles(context, options)
    context.report(files.diagnostics)
    if context.place.env.get(CHILD_VARIABLE, "").strip() == "1":
        return (finalize_tool(None, _noted_elsewhere),)
    if context.place.nesting.is_child:
        return ()
    turns = context.kept("turns", Turns())
    text = resources("ohm_subagents.suites.sticky").joinpath(f"{TOOL}.md").read_text(encoding="utf-8").rstrip()
    roster = roster_text(files.agents())
    return (
        Tool(
            checks_arguments=True,
            name=TOOL,
            label="Subagent",
            description=f"{text}\n\n{roster}",
            input_schema=SUBAGENT_SCHEMA,
            execute=partial(_subagent, _Mounted(context=context, options=options, files=files, turns=turns)),
            call_view=call_line,
            result_view=result_text,
        ),
    )


def _noted_elsewhere(_final: Finalized) -> None:
    """Whoever reads this process finds the answer in the call itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mounted:
    """One mounting of the suite, and the turns of its sessions, which outlive it."""

    context: SuiteContext
    options: StickyOptions
    files: SuiteFiles
    turns: Turns


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """A call that may be carried out: the task, its agent, and its session."""

    asked: Asked
    agent: Profile
    options: StickyOptions
    session_id: str
    session: StickySession


class _Watch:
    """Keeps the newest state of the task that a call starts."""

    def __init__(self) -> None:
        self.task: Task | None = None

    def notify(self, task: Task, event: Event) -> None:
        del event
        self.task = task


async def _subagent(mounted: _Mounted, call: ToolCall) -> ToolResult:
    return _viewed(await _answered(mounted, call))


def _viewed(result: ToolResult) -> ToolResult:
    return replace(result, view=partial(result_text, result))


async def _answered(mounted: _Mounted, call: ToolCall) -> ToolResult:
    context, options, place = mounted.context, mounted.options, mounted.context.place
    match parse_asked(call.arguments):
        case Err(wrong):
            return result_of(failed(wrong))
        case Ok(asked):
            pass
    agents = mounted.files.agents()
    agent = agents.get(asked.agent)
    if agent is None:
        return result_of(failed(f"Unknown agent: {asked.agent}. {roster_names(agents)}"))
    if isinstance(agent, Err):
        return result_of(failed(str(agent.err_value)))
    session_id = asked.session_id or str(context.new_uuid())
    folder = place.cwd / expanded(options.sessions_dir, place.home)
    session = StickySession.of(folder, cwd=place.cwd, agent=asked.agent, session_id=session_id)
    order = _Order(asked=asked, agent=agent.ok_value, options=options, session_id=session_id, session=session)
    try:
        async with mounted.turns.turn(session.path, call.abort) as notes:
            if notes is None:
                return result_of(failed(CANCELLED), session_id)
            return await _carried_out(context, call, order, notes)
    except ClosedError as closed:
        return result_of(failed(str(closed)), session_id)


async def _carried_out(context: SuiteContext, call: ToolCall, order: _Order, known: tuple[str, ...]) -> ToolResult:
    read, watch = await order.session.read(), _Watch()
    if isinstance(read, Err):
        return result_of(failed(read.err_value), order.session_id)
    state, notes = read.ok_value, [*known]

    def frame(_reply: Reply) -> ToolResult:
        return _viewed(ToolResult(text=said_so_far(watch.task), details={"sessionId": order.session_id}))

    def result(reply: Reply) -> ToolResult:
        return result_of(final_of(reply), order.session_id)

    command = Start(items=(_item(context, order, state, call.redaction),))
    throttle_ms = context.settings().onupdate_throttle_ms
    try:
        done = await followed(
            command, context, call, frame=frame, result=result, observer=watch, throttle_ms=throttle_ms
        )
    finally:
        if watch.task is not None:
            with anyio.CancelScope(shield=True):  # whoever stops waiting may go on in this session all the same
                notes += await _kept(order.session, watch.task, before=state, now_ms=context.clock())
    is_known = state is not None and not (watch.task and _is_lost(watch.task))
    return noted(done, resumed=None if order.asked.session_id is None else is_known, notes=tuple(notes))


def _is_lost(task: Task) -> bool:
    return UNREADABLE_SESSION in task.diagnostics


async def _kept(session: StickySession, task: Task, *, before: str | None, now_ms: int) -> list[str]:
    """Write down where the conversation stands now; gives what there is to know about it."""
    notes = [diagnostic.message for diagnostic in task.diagnostics]
    if before and _is_lost(task):
        aside = await session.put_aside(before, now_ms)
        if isinstance(aside, Err):
            return [*notes, aside.err_value]
        notes.append(f"It is kept as '{aside.ok_value}'.")
    state = task.activity.checkpoint
    if state is None and before is None and (task.activity.finalized or task.text or task.activity.calls):
        state = ""  # the store may know what it said
    if state is not None and state != before:
        wrong = await session.write(state)
        notes += () if wrong is None else (wrong,)
    return notes


def _item(context: SuiteContext, order: _Order, state: str | None, redaction: Redaction) -> StartItem:
    asked, options = order.asked, order.options
    return StartItem(
        profile=asked.agent,
        prepared=_prepared(order.agent, tools_of(order.agent.tools, context.host.active_tools())),
        description=title_of(asked.task, redaction),
        prompt=asked.task,
        backend=options.backend,
        limits=limits_of(options.timeout_ms, context.settings().limits),
        timeout_message=late(options.timeout_ms),
        is_one_shot=True,
        session_id=order.session.id,
        resumes=state is not None,
        checkpoint=state or None,
        corrections=options.finalize_retries,
    )


def _prepared(agent: Profile, tools: tuple[str, ...]) -> Profile:
    """The agent with the tools that it may have, told how to end."""
    options = replace(agent.agent or AgentOptions(), appended_prompt=FINALIZE_GUIDELINE)
    return replace(agent, tools=ToolPolicy(allowed=tools), agent=options)
