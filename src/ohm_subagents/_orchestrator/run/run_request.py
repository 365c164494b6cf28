"""The request of one run, as its backend gets it: the text, the conversation so far, and the tools."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from anyio import to_thread

from ohm_subagents._concurrency.faults import as_exception
from ohm_subagents._orchestrator.run.feed import feed_of
from ohm_subagents._plugins.backends.request import Exchange, RunRequest, RunSpec
from ohm_subagents._plugins.suites.ask_parent import UNBOUND, ask_tool
from ohm_subagents._plugins.suites.finalization import finalize_tool
from ohm_subagents._plugins.suites.restraint import restrained
from ohm_subagents.contract.activity import maker
from ohm_subagents.contract.text import encodable

if TYPE_CHECKING:
    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents._orchestrator.queued_prompt import QueuedPrompt
    from ohm_subagents._orchestrator.run.budget_notices import BudgetNotices
    from ohm_subagents._orchestrator.run.gate import RequestGate
    from ohm_subagents._orchestrator.run.guard import RunGuard
    from ohm_subagents._orchestrator.run.running_task import RunningTask
    from ohm_subagents._orchestrator.run.sink import RunSink
    from ohm_subagents._plugins.suites.tool import Tool, ToolCall, ToolResult
    from ohm_subagents.contract.ids import SessionId
    from ohm_subagents.contract.profile import Profile
    from ohm_subagents.contract.task import Run
    from ohm_subagents.sandbox.box import Box

_request = maker(RunRequest)


async def assembled(prompt: QueuedPrompt, notices: BudgetNotices | None) -> str:
    """Return the text for the backend: preface, what is scarce, then prompt.

    A preface that hangs on a disk costs this run only.
    """
    preface = prompt.preface
    if not isinstance(preface, str):
        preface = await to_thread.run_sync(preface, abandon_on_cancel=True)
    scarce = "" if notices is None else notices.take()
    return encodable("\n\n".join(filter(None, (preface, scarce, prompt.text))))


def run_request(
    live: RunningTask, plan: Plan, text: str, guard: RunGuard, sink: RunSink, *, box: Box | None
) -> RunRequest:
    """Return the request of the open run."""
    task = live.task
    return _request(
        task_id=task.id,
        session_id=task.session_id,
        prompt=text,
        spec=_equipped(plan, task.session_id, sink, guard.gate),
        history=tuple(map(_exchange, (*task.assignment.inherited, *task.runs[:-1]))),
        checkpoint=task.activity.checkpoint if plan.label == task.assignment.backend else None,
        inbox=live.inbox if plan.can_steer else None,
        gate=guard.gate,
        depth=live.caller.level + 1,
        feed=feed_of(live.record) if plan.can_attach else None,
        box=box,
    )


def _exchange(run: Run) -> Exchange:
    return Exchange(prompt=run.prompt, output=run.output or "")


def _equipped(plan: Plan, session_id: SessionId, sink: RunSink, gate: RequestGate) -> RunSpec:
    """Bind the child tools to the session, and add the one that hands in an answer where the profile demands it."""
    spec, profile, misfit = plan.spec, plan.profile, plan.item.overrides.misfit
    if not (spec.child_tools or profile.finalize):
        return spec
    tools = (ask_tool(gate.approvals.ask_parent) if tool is UNBOUND else tool for tool in spec.child_tools)
    final = (finalize_tool(profile.result_schema, sink.emit, misfit),) if profile.finalize else ()
    own = (bound_tool(tool, profile, session_id) for tool in tools)
    return replace(spec, child_tools=(*own, *(_used_in(session_id, tool) for tool in final)))


def bound_tool(tool: Tool, profile: Profile, session_id: SessionId) -> Tool:
    """Return a child tool as a run has it: within what its profile leaves of it, and for one session."""
    return _used_in(session_id, restrained(tool, profile.agent))


def _used_in(session_id: SessionId, tool: Tool) -> Tool:
    """Return the tool bound to one session, whatever session the backend names."""

    async def execute(call: ToolCall) -> ToolResult:
        try:
            return await tool.execute(replace(call, session_id=session_id))
        except Exception:
            raise
        except BaseException as exc:
            raise as_exception(exc) from exc

    return replace(tool, execute=execute)
