"""Runs whose tools are known only when they begin, because sources outside have to be asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from ohm_subagents._concurrency.shared_resource import READY_WITHIN_S
from ohm_subagents._config.tool_rules import WILDCARD, fold_tool, has_tool
from ohm_subagents._orchestrator.run.run_request import bound_tool
from ohm_subagents._plugins.suites.tool import ToolNeed
from ohm_subagents._policy.tool_names import may_begin
from ohm_subagents.contract.diagnostics import TOOLLESS, Diagnostic
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.events import DiagnosticRaised
from ohm_subagents.contract.profile import FINALIZE
from ohm_subagents.contract.result import Err, Ok

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ohm_subagents._orchestrator.admission.sourced_tools import SourcedTools
    from ohm_subagents._orchestrator.run.guard import RunGuard
    from ohm_subagents._orchestrator.run.running_task import RunningTask
    from ohm_subagents._plugins.backends.interface import Backend, RunOutput
    from ohm_subagents._plugins.backends.request import RunRequest, RunSpec
    from ohm_subagents._plugins.backends.sink import Sink
    from ohm_subagents._plugins.suites.tool import Tool, ToolSource
    from ohm_subagents.contract.result import Result

    Answers = dict[str, Result[tuple[Tool, ...], OhmError]]


class SourcedBackend:
    """A backend for one run, which asks the sources for tools where the run works. No clock counts meanwhile."""

    def __init__(self, backend: Backend, sourced: SourcedTools, *, live: RunningTask, guard: RunGuard) -> None:
        self._backend = backend
        self._sourced = sourced
        self._live = live
        self._guard = guard

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Ask the sources, then run the prompt."""
        self._guard.pause(entirely=True)
        try:
            spec = await with_sourced_tools(request, self._sourced, self._live)
        finally:
            self._guard.resume(entirely=True)
        return await self._backend.run(replace(request, spec=spec), sink)


async def with_sourced_tools(request: RunRequest, sourced: SourcedTools, live: RunningTask) -> RunSpec:
    """Return the spec with the tools that the sources have now; what they lack is a diagnostic of the task."""
    need = ToolNeed(task_id=live.task.id, gives=sourced.tools.gives, settled=live.settled.wait, box=request.box)
    spec = request.spec
    answers: Answers = {}

    async def ask(source: ToolSource) -> None:
        answers[source.prefix] = Err(_late(source))
        with anyio.move_on_after(READY_WITHIN_S):
            answers[source.prefix] = await source.tools(need)

    async with anyio.create_task_group() as group:
        for source in sourced.sources:
            group.start_soon(ask, source)
    found = {
        tool.name: tool
        for source in sourced.sources
        if isinstance(answer := answers[source.prefix], Ok)
        for tool in answer.ok_value
        if need.gives(tool.name)
    }
    others = tuple(name for name in spec.tools if not _is_of(name, answers))
    has_any = bool(found) or any(name != FINALIZE for name in others)
    for lacking in _lacking(sourced, answers, (*found,)):
        subject, rest = ("tools", "without them") if has_any else (TOOLLESS, "without any tool")
        message = f"{lacking} The subagent works {rest}."
        live.record.add(DiagnosticRaised(diagnostic=Diagnostic(subject=subject, message=message)))
    bound = (bound_tool(tool, request.profile, request.session_id) for tool in found.values())
    own = tuple(tool for tool in spec.child_tools if tool.name != FINALIZE)
    return replace(spec, tools=(*others, *found), child_tools=(*own, *bound, *spec.child_tools[len(own) :]))


def _late(source: ToolSource) -> OhmError:
    message = f"The tools '{source.prefix}*' were not listed within {READY_WITHIN_S:g} s."
    return OhmError(code=ErrorCode.TOOL_FAILED, message=message)


def _lacking(sourced: SourcedTools, answers: Answers, found: tuple[str, ...]) -> Iterator[str]:
    """Yield a sentence for each source that failed, and one for the names that the others have not."""
    failed = {prefix: answer.err_value for prefix, answer in answers.items() if isinstance(answer, Err)}
    yield from (f"{failed[source.prefix]}" for source in sourced.sources if source.prefix in failed)
    for name in sourced.tools.asked:
        missing = not any(has_tool((name,), one) for one in found)
        if missing and not has_tool(sourced.tools.denied, name) and not any(may_begin(name, one) for one in failed):
            verb = "stands for no tool" if WILDCARD in name else "is no tool"
            yield f"'{name}' {verb} that there is now, and is left out."


def _is_of(name: str, prefixes: Iterable[str]) -> bool:
    return any(fold_tool(name).startswith(fold_tool(one)) for one in prefixes)
