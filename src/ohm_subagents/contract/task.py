"""Task, and `apply`: the only function that changes one."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

from ohm_subagents._records import dataclass
from ohm_subagents.contract.acceptance import OutcomeChecked
from ohm_subagents.contract.account import AccountCharged, StartBudget
from ohm_subagents.contract.activity import Activity, begun, changed, charged, maker, reported, run_ended, settled_later
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.events import (
    ActivityEvent,
    DiagnosticRaised,
    Event,
    FollowUpTaken,
    Guard,
    GuardTripped,
    RunEnded,
    RunStarted,
    TaskQueued,
    TaskSettled,
)
from ohm_subagents.contract.feed import FeedRead
from ohm_subagents.contract.ids import CallId, SessionId, TaskId
from ohm_subagents.contract.launch import LaunchRecord
from ohm_subagents.contract.model_route import ModelSelected, RouteResolved
from ohm_subagents.contract.outcome import Cancelled, Failed, Outcome, Succeeded
from ohm_subagents.contract.requests import AnswerAwaited, AnswerGiven, Request, still_open
from ohm_subagents.contract.run_wait import RunWait

Status = Literal["queued", "running", "succeeded", "failed", "cancelled"]
Invocation = Literal["task-routed", "primary-tool"]
UNAVAILABLE = "unavailable"
TERMINAL: Final = frozenset({"succeeded", "failed", "cancelled"})
"""The statuses after which nothing more happens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The model and the backend of a task, as shown on every envelope."""

    provider: str = UNAVAILABLE
    """The id of the model's provider."""
    model: str = UNAVAILABLE
    """The id of the model, without its provider."""
    runtime: str
    """The backend that really runs the task."""
    route: str
    """The way that was taken to it."""
    models_used: tuple[ModelSelected, ...] = ()
    """The models that were chosen, oldest first; empty where nothing was to choose."""
    served_model: str = ""
    """The model that answers, as the provider or the agent says it; empty while it is not known."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One prompt given to one backend."""

    prompt: str
    """The prompt, as it was given to the backend."""
    started_ms: int
    """The start, in epoch milliseconds."""
    follow_ups: tuple[str, ...] = ()
    """The follow-ups that the run took, oldest first."""
    ended_ms: int | None = None
    """The end, in epoch milliseconds; None while the run goes on."""
    outcome: Outcome | None = None
    """The outcome of the run; None while it goes on."""
    output: str | None = None
    """The whole answer, uncut; None while the run goes on."""
    stopped_by: Guard | None = None
    """The guard that ended the run."""
    exit_code: int | None = None
    """The exit code of the process that answered; None for a run without one."""
    summary: str = ""
    """The backend's own summary of the answer."""
    is_follow_up: bool = False
    """True if it answers a follow-up, and not the prompt of the task."""
    checked: OutcomeChecked | None = None
    """The evidence of the checks that ran after its answer; None where none did."""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The way in which a task came about."""

    invocation: Invocation
    """The kind of tool that started the task."""
    parent: TaskId | None = None
    """The task whose subagent started this one."""
    call: CallId | None = None
    """The call of a program that started the task (`Ohm.begin`), or its start of this and other tasks."""
    suite: str = ""
    """The tool suite that the profile is from; empty for one of the catalogue."""
    resumed_from: TaskId | None = None
    """The settled task of the same session that this one continues."""


@dataclass(frozen=True, kw_only=True)
class Assignment(Origin):
    """The request, its profile and its backend: fixed when the task is admitted."""

    profile: str
    """The id of the profile."""
    name: str
    """The display name of the profile."""
    description: str
    """The title of the task, in a few words, trimmed."""
    prompt: str
    """The first prompt, trimmed."""
    backend: str
    """The label of the backend that was chosen at admission; `Task.route` tells which one works now."""
    created_ms: int
    """The time of admission, in epoch milliseconds."""
    cwd: str | None = None
    """The working directory that the call named."""
    answer: Literal["json"] | None = None
    """The form of the answer where a schema demands one; None for a text."""
    unkept: tuple[str, ...] = ()
    """The options of the start that no store keeps: `profile` for one of a program's own, `tools` for functions."""
    outlives: bool = False
    """True if its backend goes on with a run whose process has died (`Capability.ATTACHES`)."""
    nonce: str | None = None
    """A random part of the keys of such runs, for a task of another store may have the same id; None for others."""
    shares: StartBudget | None = None
    """The budget that it shares with the other tasks of its start; None where it is alone, or nothing limits them."""
    inherited: tuple[Run, ...] = ()
    """The newest runs of the tasks that this one continues, oldest first."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """The caller's handle to delegated work."""

    id: TaskId
    """The id of the task; opaque."""
    session_id: SessionId
    """The conversation that the task belongs to; a task of its own session has one that no other has."""
    assignment: Assignment
    """The request; never changes."""
    activity: Activity
    """The reports of the backend so far."""
    route: Route
    """The model and the backend that work on it now."""
    launch: LaunchRecord | None = None
    """The settings that it was admitted with; None for a task that an earlier version has kept."""
    status: Status = "queued"
    """The state of the task."""
    summary: str
    """One line for people."""
    updated_ms: int
    """The time of the newest event, in epoch milliseconds."""
    started_ms: int | None = None
    """The start of the first run, in epoch milliseconds."""
    ended_ms: int | None = None
    """The time at which the task settled, in epoch milliseconds."""
    runs: tuple[Run, ...] = ()
    """One a prompt that was given to a backend, oldest first."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Notes about everything that was not honoured as written."""
    error: OhmError | None = None
    """The reason of a failure; None unless the task failed."""
    requests: tuple[Request, ...] = ()
    """The requests of its subagent that nobody has answered yet, oldest first; its run waits for them."""

    @property
    def is_terminal(self) -> bool:
        """True once nothing more will happen."""
        return self.status in TERMINAL

    @property
    def text(self) -> str:
        """Everything that the assistant streamed so far, over all runs; it survives every failure."""
        return "".join(self.activity.said)

    @property
    def stopped_by(self) -> Guard | None:
        """The guard that ended the first run, which decides how the task ends."""
        return self.runs[0].stopped_by if self.runs else None

    @property
    def output(self) -> str:
        """The answer to the prompt, or empty; those to follow-ups are in `runs`."""
        for run in reversed(self.runs):
            if run.output and not run.is_follow_up:
                return run.output
        return ""


_new_run = maker(Run)


def apply(task: Task, event: Event, *, at_ms: int) -> Task:  # noqa: C901, PLR0912  one arm an event is the point
    """Return the next state of `task`. Pure; never raises. A settled task changes as `settled_later` says."""
    if task.status in TERMINAL:
        activity = settled_later(task.activity, event)
        return task if activity is task.activity else changed(task, activity=activity)
    if isinstance(event, ActivityEvent):
        return changed(task, updated_ms=at_ms, activity=reported(task.activity, event, at_ms=at_ms))
    match event:
        case TaskQueued():
            return changed(task, updated_ms=at_ms)
        case RunStarted():
            return _run_started(task, event, at_ms)
        case RunEnded():
            return _run_ended(task, event, at_ms)
        case TaskSettled():
            return _settled(task, event.outcome, at_ms)
        case FollowUpTaken():
            taken = replace(task.runs[-1], follow_ups=(*task.runs[-1].follow_ups, event.prompt))
            quiet = changed(task.activity, is_speaking=False)
            return changed(task, updated_ms=at_ms, activity=quiet, runs=(*task.runs[:-1], taken))
        case OutcomeChecked():
            checked = tuple(replace(run, checked=event) for run in task.runs[-1:])
            return changed(task, updated_ms=at_ms, runs=(*task.runs[:-1], *checked))
        case RouteResolved() | ModelSelected():
            return _routed(task, event, at_ms)
        case GuardTripped():
            if event.step == "stop":
                stopped = tuple(replace(run, stopped_by=event.guard) for run in task.runs[-1:])
                return changed(task, updated_ms=at_ms, runs=(*task.runs[:-1], *stopped))
            warning = Diagnostic(subject=event.guard, message=event.message)
            return changed(task, updated_ms=at_ms, diagnostics=(*task.diagnostics, warning))
        case FeedRead():
            return changed(task, updated_ms=at_ms, activity=changed(task.activity, feed=event))
        case AnswerAwaited() | AnswerGiven():
            is_over = isinstance(event, AnswerGiven)
            activity = changed(task.activity, wait=RunWait(over_ms=at_ms)) if is_over else task.activity
            return changed(task, updated_ms=at_ms, activity=activity, requests=still_open(task.requests, event))
        case AccountCharged():
            return changed(task, updated_ms=at_ms, activity=charged(task.activity, event))
        case DiagnosticRaised():
            return changed(task, updated_ms=at_ms, diagnostics=(*task.diagnostics, event.diagnostic))


def _routed(task: Task, event: RouteResolved | ModelSelected, at_ms: int) -> Task:
    route = task.route
    if isinstance(event, ModelSelected):
        is_new = event not in route.models_used[-1:]  # the next run of a task begins with the same one
        route = replace(route, models_used=(*route.models_used, event)) if is_new else route
        return changed(task, updated_ms=at_ms, route=route, activity=changed(task.activity, is_speaking=False))
    route = Route(
        provider=event.provider or route.provider,
        model=event.model or route.model,
        runtime=event.runtime or route.runtime,
        route=event.route or route.route,
        models_used=route.models_used,
        served_model=event.served_model or ("" if event.model else route.served_model),
    )
    launch = task.launch and task.launch.run_by(event.program, event.program_version)
    return changed(task, updated_ms=at_ms, route=route, launch=launch)


def _run_started(task: Task, event: RunStarted, at_ms: int) -> Task:
    return changed(
        task,
        updated_ms=at_ms,
        status="running",
        activity=begun(task.activity),
        started_ms=task.started_ms or at_ms,
        runs=(*task.runs, _new_run(prompt=event.prompt, started_ms=at_ms, is_follow_up=event.is_follow_up)),
        summary=f"{'Continuing' if task.runs else 'Starting'} {task.assignment.name}: {task.assignment.description}",
    )


def _run_ended(task: Task, event: RunEnded, at_ms: int) -> Task:
    if not task.runs:
        return changed(task, updated_ms=at_ms)
    run, outcome, code = task.runs[-1], event.outcome, event.exit_code
    stop, output = None if isinstance(outcome, Succeeded) else run.stopped_by, event.output or None
    ended = changed(
        run, ended_ms=at_ms, outcome=outcome, output=output, stopped_by=stop, exit_code=code, summary=event.summary
    )
    return changed(
        task,
        updated_ms=at_ms,
        runs=(*task.runs[:-1], ended),
        activity=run_ended(task.activity),
        requests=(),
        summary=event.summary or task.summary,
    )


def _settled(task: Task, outcome: Outcome, at_ms: int) -> Task:
    match outcome:
        case Succeeded():
            answers = [run.summary for run in task.runs if run.summary and not run.is_follow_up]
            newest = [task.summary, *answers][-1]
            return changed(task, updated_ms=at_ms, ended_ms=at_ms, status="succeeded", summary=newest)
        case Failed(error=error):
            summary = error.summary or error.message
            return changed(task, updated_ms=at_ms, ended_ms=at_ms, status="failed", error=error, summary=summary)
        case Cancelled():
            summary = f"Cancelled {task.assignment.name}: {task.assignment.description}"
            return changed(task, updated_ms=at_ms, ended_ms=at_ms, status="cancelled", summary=summary)
