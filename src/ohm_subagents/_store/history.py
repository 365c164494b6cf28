"""The events of a task as far as its state holds them, for tasks that were kept without a log."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.activity import Activity
from ohm_subagents.contract.events import (
    AgentEnded,
    FollowUpTaken,
    Recorded,
    RunEnded,
    RunStarted,
    TaskQueued,
    TaskSettled,
    TextDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
)
from ohm_subagents.contract.outcome import Cancelled, Failed, Succeeded
from ohm_subagents.contract.task import apply
from ohm_subagents.contract.workspace import WorkspaceKept

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ohm_subagents.contract.outcome import Outcome
    from ohm_subagents.contract.task import Run, Task

CALLS: Final = (ToolStarted, ToolUpdated, ToolEnded)
COUNTED_EVENTS: Final = (TextDelta, AgentEnded, *CALLS)
"""The events that `event_total` of a task counts."""


def events_of(task: Task) -> tuple[Recorded, ...]:
    """Return its prompts, newest tool calls, newest events and ends; older text of the assistant is one event."""
    return completed_events(task, streamed_events(task))


def streamed_events(task: Task, before: Task | None = None) -> Iterator[Recorded]:
    """Yield the newest tool calls, the older text as one event, then the newest events one by one.

    `before` is an earlier state of the task: then only what came after it.
    """
    activity = task.activity
    known = Activity() if before is None else before.activity
    new = activity.event_total - known.event_total
    newest = activity.events[-new:] if new > 0 else ()
    if len(newest) < new:
        in_newest = sum(isinstance(one.event, CALLS) for one in newest)
        yield from (one for one in activity.calls[: len(activity.calls) - in_newest] if one not in known.calls)
        tail = replace(task, status="running", activity=Activity())
        for one in newest:
            tail = apply(tail, one.event, at_ms=one.at_ms)
        if older := task.text.removeprefix("".join(known.said)).removesuffix(tail.text):
            at_ms = newest[0].at_ms if newest else task.updated_ms
            yield Recorded(at_ms=at_ms, event=TextDelta(text=older))
    yield from newest


def completed_events(task: Task, known: Iterable[Recorded]) -> tuple[Recorded, ...]:
    """Add to the known events of a task what its runs hold beside them: their beginning, answer and end."""
    before, *of_runs = _by_run(known)
    missing = task.runs[: max(0, len(task.runs) - len(of_runs))]
    if missing:
        of_runs, before = [*_by_time(before, missing), *of_runs], []
    entries = (
        before
        if _has(before, TaskQueued)
        else [Recorded(at_ms=task.assignment.created_ms, event=TaskQueued()), *before]
    )
    for run, events in zip_longest(task.runs, of_runs):
        entries += (events or []) if run is None else _completed_run(run, events or [])
    if task.is_terminal and not _has(entries, TaskSettled):
        entries.append(Recorded(at_ms=task.ended_ms or task.updated_ms, event=TaskSettled(outcome=_outcome(task))))
    kept = task.activity.workspace
    if kept is not None and not _has(entries, WorkspaceKept):
        entries.append(Recorded(at_ms=task.ended_ms or task.updated_ms, event=kept))
    return tuple(entries)


def _by_run(entries: Iterable[Recorded]) -> list[list[Recorded]]:
    """Divide events into what came before any run, then each run from its beginning."""
    parts: list[list[Recorded]] = [[]]
    for entry in entries:
        if isinstance(entry.event, RunStarted):
            parts.append([])
        parts[-1].append(entry)
    return parts


def _by_time(entries: Iterable[Recorded], runs: Sequence[Run]) -> list[list[Recorded]]:
    """Divide events among runs by the clock, where nothing else says which run they belong to."""
    begun = [run.started_ms for run in runs]
    parts: list[list[Recorded]] = [[] for _ in runs]
    for entry in entries:
        parts[max(0, bisect_right(begun, entry.at_ms) - 1)].append(entry)
    return parts


def _completed_run(run: Run, entries: list[Recorded]) -> list[Recorded]:
    started = Recorded(at_ms=run.started_ms, event=RunStarted(prompt=run.prompt, is_follow_up=run.is_follow_up))
    if _has(entries, RunStarted):
        started, *entries = entries
    taken = sum(isinstance(entry.event, FollowUpTaken) for entry in entries)
    missing = run.follow_ups[: max(0, len(run.follow_ups) - taken)]
    follow_ups = (Recorded(at_ms=run.started_ms, event=FollowUpTaken(prompt=prompt)) for prompt in missing)
    whole = [started, *follow_ups, *(_answered(entry, run) for entry in entries)]
    if run.outcome is not None and not _has(whole, RunEnded):
        output, code = run.output or "", run.exit_code
        ended = RunEnded(outcome=run.outcome, output=output, summary=run.summary, exit_code=code)
        whole.append(Recorded(at_ms=run.ended_ms or run.started_ms, event=ended))
    return whole


def _answered(entry: Recorded, run: Run) -> Recorded:
    if isinstance(entry.event, RunEnded):
        return replace(entry, event=replace(entry.event, output=run.output or ""))
    return entry


def _has(entries: Iterable[Recorded], kind: type) -> bool:
    return any(isinstance(entry.event, kind) for entry in entries)


def _outcome(task: Task) -> Outcome:
    if task.status == "cancelled":
        return Cancelled(reason=task.summary)
    return Failed(error=task.error) if task.error is not None else Succeeded()
