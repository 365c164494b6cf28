"""Task, and `apply`: the only function that changes one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypedDict

from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.events import (
    AgentEnded,
    Cancelled,
    Checkpointed,
    DiagnosticRaised,
    Event,
    Failed,
    FileChanged,
    Finalized,
    FollowUpTaken,
    Guard,
    GuardTripped,
    Outcome,
    Recorded,
    RequestHeld,
    RequestReleased,
    RouteResolved,
    RunEnded,
    RunStarted,
    Succeeded,
    TaskQueued,
    TaskSettled,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    UsageAdded,
)
from ohm_subagents.contract.finalization import FINALIZE, standing
from ohm_subagents.contract.ids import SessionId, TaskId
from ohm_subagents.contract.run import OpenCall, Run
from ohm_subagents.contract.text_pieces import extended
from ohm_subagents.contract.usage import NOTHING_USED, Usage

Status = Literal["queued", "running", "succeeded", "failed", "cancelled"]
Invocation = Literal["task-routed", "primary-tool"]
UNAVAILABLE, MAX_EVENTS = "unavailable", 120
_TOLD_APART = "\n\n"  # between the texts of two turns, which a tool call or a new run separates


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Who does the work, as shown on every envelope."""

    provider: str = UNAVAILABLE
    model: str = UNAVAILABLE
    runtime: str
    route: str


@dataclass(frozen=True, kw_only=True)
class Task:
    """The caller's handle to delegated work. Times are epoch milliseconds.

    `events` are the newest `max_events` facts, `event_total` counts all of them; `calls` are the newest `max_events` of
    them that are about tools, so that a long answer does not push out what was done for it. `said` are the pieces of
    `text`. `files` are the files written. `checkpoint` is the newest conversation state of the backend. `progress_ms`
    is when the backend last told of anything. A task that continues a settled one names it in `resumed_from` and has
    its runs in `inherited`; one that a subagent started names that task in `parent`. `catalog` and `cwd` are those of
    its item. `finalized` is the answer that the newest run handed in, as long as no other tool was called after it.
    """

    id: TaskId
    session_id: SessionId
    profile: str
    name: str
    description: str
    prompt: str
    invocation: Invocation
    backend: str
    route: Route
    created_ms: int
    updated_ms: int
    max_events: int = MAX_EVENTS
    status: Status = "queued"
    summary: str
    started_ms: int | None = None
    ended_ms: int | None = None
    runs: tuple[Run, ...] = ()
    parent: TaskId | None = None
    catalog: Literal["subagents", "agents"] = "subagents"
    cwd: str | None = None
    resumed_from: TaskId | None = None
    inherited: tuple[Run, ...] = ()
    events: tuple[Recorded, ...] = ()
    event_total: int = 0
    calls: tuple[Recorded, ...] = ()
    is_speaking: bool = False
    open_calls: tuple[OpenCall, ...] = ()
    said: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    progress_ms: int | None = None
    usage: Usage = NOTHING_USED
    checkpoint: str | None = None
    finalized: Finalized | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    error: OhmError | None = None

    @property
    def is_terminal(self) -> bool:
        """Whether nothing more will happen."""
        return self.status in {"succeeded", "failed", "cancelled"}

    @property
    def text(self) -> str:
        """What the assistant streamed so far, over all runs; it survives every failure."""
        return "".join(self.said)

    @property
    def stopped_by(self) -> Guard | None:
        """The guard that ended the first run, which decides what became of the task."""
        return self.runs[0].stopped_by if self.runs else None

    @property
    def output(self) -> str:
        """The answer to the prompt, or empty; those to follow-ups are in `runs`."""
        return ["", *(run.output for run in self.runs if run.output and not run.is_follow_up)][-1]


if TYPE_CHECKING:
    from dataclasses import replace as _changed
else:

    def _changed(task: Task, **changes: object) -> Task:
        """`replace`, fourteen times as fast: it is on the path of every streamed word, and a task has many fields."""
        new, values = object.__new__(Task), task.__dict__.copy()
        values.update(changes)
        object.__setattr__(new, "__dict__", values)
        return new


def apply(task: Task, event: Event, *, at_ms: int) -> Task:  # noqa: C901, PLR0912  one arm an event is the point
    """The next state of `task`. Pure; never raises. A settled task never changes: a late event returns it as it is.

    One copy an event: this is on the path of every streamed word.
    """
    if task.is_terminal:
        return task
    match event:
        case TaskQueued() | RequestHeld() | RequestReleased():
            return _changed(task, updated_ms=at_ms)
        case ThinkingDelta():
            return _changed(task, updated_ms=at_ms, progress_ms=at_ms)
        case GuardTripped():
            if event.step == "stop":
                stopped = tuple(replace(run, stopped_by=event.guard) for run in task.runs[-1:])
                return _changed(task, updated_ms=at_ms, runs=(*task.runs[:-1], *stopped))
            told = Diagnostic(subject=event.guard, message=event.message)
            return _changed(task, updated_ms=at_ms, diagnostics=(*task.diagnostics, told))
        case RunStarted():
            return _run_started(task, event, at_ms)
        case FollowUpTaken():
            taken = replace(task.runs[-1], follow_ups=(*task.runs[-1].follow_ups, event.prompt))
            return _changed(task, updated_ms=at_ms, is_speaking=False, runs=(*task.runs[:-1], taken))
        case RunEnded():
            return _run_ended(task, event, at_ms)
        case TaskSettled():
            return _settled(task, event.outcome, at_ms)
        case RouteResolved():
            return _changed(task, updated_ms=at_ms, route=_merged(task.route, event))
        case UsageAdded():
            return _changed(task, updated_ms=at_ms, progress_ms=at_ms, usage=task.usage + event.usage)
        case Checkpointed():
            return _changed(task, updated_ms=at_ms, checkpoint=event.state)
        case FileChanged():
            files = task.files if event.path in task.files else (*task.files, event.path)
            return _changed(task, updated_ms=at_ms, progress_ms=at_ms, files=files)
        case DiagnosticRaised():
            return _changed(task, updated_ms=at_ms, diagnostics=(*task.diagnostics, event.diagnostic))
        case TextDelta():
            piece = event.text if task.is_speaking or not task.said else f"{_TOLD_APART}{event.text}"
            return _changed(task, said=extended(task.said, piece), is_speaking=True, **_kept(task, event, at_ms))
        case AgentEnded():
            return _changed(task, **_kept(task, event, at_ms))
        case ToolStarted():
            opened = OpenCall(call_id=event.call_id, tool=event.tool)
            final = task.finalized if event.tool == FINALIZE else None  # a call after the answer voids it
            return _changed(task, finalized=final, open_calls=(*task.open_calls, opened), **_called(task, event, at_ms))
        case Finalized():  # within its call: one that began since then has voided it
            return _changed(task, updated_ms=at_ms, progress_ms=at_ms, finalized=standing(event, task.calls))
        case ToolUpdated():
            return _changed(task, **_called(task, event, at_ms))
        case ToolEnded():
            still_open = tuple(call for call in task.open_calls if call.call_id != event.call_id)
            counted = task.usage + Usage(tool_calls=1)
            called = _called(task, event, at_ms)
            if event.status == "interrupted":
                called["progress_ms"] = task.progress_ms
            return _changed(task, open_calls=still_open, usage=counted, **called)


class _Kept(TypedDict):
    updated_ms: int
    progress_ms: int | None
    events: tuple[Recorded, ...]
    event_total: int


class _Called(_Kept):
    calls: tuple[Recorded, ...]
    is_speaking: bool


def _kept(task: Task, event: Event, at_ms: int) -> _Kept:
    recorded = Recorded(at_ms=at_ms, event=event)
    return {
        "updated_ms": at_ms,
        "progress_ms": at_ms,
        "events": (*task.events, recorded)[-task.max_events :],
        "event_total": task.event_total + 1,
    }


def _called(task: Task, event: Event, at_ms: int) -> _Called:
    kept = _kept(task, event, at_ms)
    return {**kept, "calls": (*task.calls, kept["events"][-1])[-task.max_events :], "is_speaking": False}


def _merged(route: Route, event: RouteResolved) -> Route:
    return Route(
        provider=event.provider or route.provider,
        model=event.model or route.model,
        runtime=event.runtime or route.runtime,
        route=event.route or route.route,
    )


def _run_started(task: Task, event: RunStarted, at_ms: int) -> Task:
    return _changed(
        task,
        updated_ms=at_ms,
        status="running",
        is_speaking=False,
        finalized=None,
        started_ms=task.started_ms or at_ms,
        runs=(*task.runs, Run(prompt=event.prompt, started_ms=at_ms, is_follow_up=event.is_follow_up)),
        summary=f"{'Continuing' if task.runs else 'Starting'} {task.name}: {task.description}",
    )


def _run_ended(task: Task, event: RunEnded, at_ms: int) -> Task:
    if not task.runs:
        return _changed(task, updated_ms=at_ms)
    run, outcome, code = task.runs[-1], event.outcome, event.exit_code
    stopped_by, output = None if isinstance(outcome, Succeeded) else run.stopped_by, event.output or None
    ended = replace(
        run,
        ended_ms=at_ms,
        outcome=outcome,
        output=output,
        stopped_by=stopped_by,
        exit_code=code,
        summary=event.summary,
    )
    return _changed(
        task,
        updated_ms=at_ms,
        runs=(*task.runs[:-1], ended),
        open_calls=(),
        summary=event.summary or task.summary,
    )


def _settled(task: Task, outcome: Outcome, at_ms: int) -> Task:
    match outcome:
        case Succeeded():
            answers = [run.summary for run in task.runs if run.summary and not run.is_follow_up]
            told = [task.summary, *answers][-1]
            return _changed(task, updated_ms=at_ms, ended_ms=at_ms, status="succeeded", summary=told)
        case Failed(error=error):
            told = error.summary or error.message
            return _changed(task, updated_ms=at_ms, ended_ms=at_ms, status="failed", error=error, summary=told)
        case Cancelled():
            summary = f"Cancelled {task.name}: {task.description}"
            return _changed(task, updated_ms=at_ms, ended_ms=at_ms, status="cancelled", summary=summary)
