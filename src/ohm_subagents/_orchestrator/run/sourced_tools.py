"""Ask the sources of tools before a run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio

from ohm_subagents._config.tool_rules import WILDCARD, fold_tool, has_tool
from ohm_subagents._plugins.suites.tool import ToolNeed
from ohm_subagents._policy.tool_names import may_begin
from ohm_subagents.contract.diagnostics import TOOLLESS, Diagnostic
from ohm_subagents.contract.events import DiagnosticRaised
from ohm_subagents.contract.profile import FINALIZE
from ohm_subagents.contract.result import Err, Ok

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ohm_subagents._orchestrator.admission.sourced_tools import SourcedTools
    from ohm_subagents._orchestrator.run.live import LiveTask
    from ohm_subagents._plugins.backends.request import RunSpec
    from ohm_subagents._plugins.suites.tool import Tool, ToolSource
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.result import Result

    Answers = dict[str, Result[tuple[Tool, ...], OhmError]]


async def with_sourced_tools(spec: RunSpec, sourced: SourcedTools, live: LiveTask) -> RunSpec:
    """Return the spec with the tools that the sources have now; what they lack is a diagnostic of the task."""
    need = ToolNeed(task_id=live.task.id, gives=sourced.tools.gives, settled=live.settled.wait)
    answers: Answers = {}

    async def ask(source: ToolSource) -> None:
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
    return replace(spec, tools=(*others, *found), child_tools=(*spec.child_tools, *found.values()))


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
