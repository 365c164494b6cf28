"""The tool `subagent`: one agent that keeps its context."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files as resources
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents.suite import (
    UNREADABLE_SESSION,
    ClosedError,
    Err,
    Ok,
    Start,
    Tool,
    ToolResult,
    finalize_tool,
    run_command,
    suite_options,
)
from ohm_subagents.suites.sticky.agents import STICKY_CHILD_VARIABLE, AgentFiles
from ohm_subagents.suites.sticky.inputs import SUBAGENT_SCHEMA, parse_input
from ohm_subagents.suites.sticky.item import Order, start_item
from ohm_subagents.suites.sticky.options import StickyOptions, expanded, prompt_folders
from ohm_subagents.suites.sticky.outcome import CANCELLED, failed, final_of, noted, result_of
from ohm_subagents.suites.sticky.sessions import StickySession
from ohm_subagents.suites.sticky.turns import Turns
from ohm_subagents.suites.sticky.views import progress_text, result_text, roster_names, roster_text
from ohm_subagents.views import call_line

if TYPE_CHECKING:
    from ohm_subagents.suite import Event, Finalized, Reply, SuiteContext, Task, ToolCall

TOOL: Final = "subagent"


@cache
def _description() -> str:
    return resources("ohm_subagents.suites.sticky").joinpath(f"{TOOL}.md").read_text(encoding="utf-8").rstrip()


def build(context: SuiteContext) -> tuple[Tool, ...]:
    """Make the tool. In the process of an agent, only the tool that hands in its answer; for other subagents, none."""
    options = suite_options(StickyOptions, context.settings().options, suite="sticky")
    files = AgentFiles(context, prompt_folders(options, context.place.home))
    context.report(files.diagnostics)
    if context.place.env.get(STICKY_CHILD_VARIABLE, "").strip() == "1":
        return (finalize_tool(None, _noted_elsewhere),)
    if context.place.nesting.is_child:
        return ()
    turns = context.remember("turns", Turns())
    roster = roster_text(files.agents())
    return (
        Tool(
            checks_arguments=True,
            name=TOOL,
            label="Subagent",
            description=f"{_description()}\n\n{roster}",
            input_schema=SUBAGENT_SCHEMA,
            execute=partial(_subagent, _Mounted(context=context, options=options, files=files, turns=turns)),
            call_view=partial(call_line, "subagent", argument="agent"),
            result_view=result_text,
        ),
    )


def _noted_elsewhere(_final: Finalized) -> None:
    """Keep nothing: the parent process reads the answer from the call itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mounted:
    """One mounting of the suite, and the turns of its sessions, which outlive it."""

    context: SuiteContext
    options: StickyOptions
    files: AgentFiles
    turns: Turns


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
    match parse_input(call.arguments):
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
    order = Order(asked=asked, agent=agent.ok_value, options=options, session_id=session_id, session=session)
    try:
        async with mounted.turns.turn(session.path, call.abort) as notes:
            if notes is None:
                return result_of(failed(CANCELLED), session_id)
            return await _carried_out(context, call, order, notes)
    except ClosedError as closed:
        return result_of(failed(str(closed)), session_id)


async def _carried_out(context: SuiteContext, call: ToolCall, order: Order, known: tuple[str, ...]) -> ToolResult:
    read, watch = await order.session.read(), _Watch()
    if isinstance(read, Err):
        return result_of(failed(read.err_value), order.session_id)
    state, notes = read.ok_value, [*known]

    def frame(_reply: Reply) -> ToolResult:
        return _viewed(ToolResult(text=progress_text(watch.task), details={"sessionId": order.session_id}))

    def result(reply: Reply) -> ToolResult:
        return result_of(final_of(reply, order.options.timeout_ms), order.session_id)

    command = Start(items=(start_item(context, order, state, call.redaction),))
    try:
        done = await run_command(command, context, call, frame=frame, result=result, observer=watch)
    finally:
        if watch.task is not None:
            with anyio.CancelScope(shield=True):  # a cancelled caller may continue the session too
                notes += await _kept(order.session, watch.task, before=state, now_ms=context.clock())
    is_known = state is not None and not (watch.task and _is_lost(watch.task))
    return noted(done, resumed=None if order.asked.session_id is None else is_known, notes=tuple(notes))


def _is_lost(task: Task) -> bool:
    return UNREADABLE_SESSION in task.diagnostics


async def _kept(session: StickySession, task: Task, *, before: str | None, now_ms: int) -> list[str]:
    """Write the state of the conversation to its file; return notes for the caller."""
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
