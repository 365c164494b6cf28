"""The part of a task that belongs to one prompt: what its runs did, said and used, and their outcome."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract.events import TaskSettled
from ohm_subagents.contract.outcome import Cancelled, Succeeded
from ohm_subagents.contract.replies import SendReply
from ohm_subagents.contract.task import apply

if TYPE_CHECKING:
    from ohm_subagents._orchestrator.queued_prompt import QueuedPrompt
    from ohm_subagents._orchestrator.run.running_task import RunningTask
    from ohm_subagents.contract.events import Recorded
    from ohm_subagents.contract.task import Run, Status, Task

NOT_TAKEN: Final = "The caller stopped waiting before the follow-up was taken."
GIVEN_UP: Final = "The caller stopped waiting, and the follow-up was stopped."
GOES_ON: Final = "The caller stopped waiting; the run that has taken the follow-up goes on."
TOO_LATE: Final = "The task was over before the follow-up was taken."


def first_part(live: RunningTask) -> Task:
    """Return the task as its starter sees it: once its own prompt is answered, follow-ups change nothing."""
    task, ended = live.task, live.asked.ended
    if ended is None or (task.is_terminal and len(task.runs) == len(ended.runs)):
        return task
    return _settled(live.asked, ended.runs[-1])


def follow_up(live: RunningTask, message: QueuedPrompt) -> SendReply:
    """Return the state of a follow-up."""
    if message.run is not None:
        seen = _settled(message, message.run)
        is_its_own = message.run.is_follow_up
        if message.is_follow_up and not is_its_own and isinstance(message.run.outcome, Succeeded):
            seen = replace(seen, summary=message.summary(live.record.redact))
        return SendReply(task=seen, run=message.run, goes_on=message.is_followed)
    if message.answered.is_set and not live.record.is_left:
        over = live.task.summary if live.task.status == "cancelled" else TOO_LATE
        return SendReply(task=_unanswered(live.task, "cancelled", over))
    if message.began is not None:
        return SendReply(task=_between(message.began, live.task))
    if live.inbox.current is not None and live.inbox.current.began is not None and live.inbox.is_taken(message):
        return SendReply(task=_between(live.inbox.current.began, live.task))
    return SendReply(
        task=_unanswered(
            live.task, "queued", f"Queued {live.task.assignment.name} follow-up: {live.task.assignment.description}"
        )
    )


def abandoned(live: RunningTask, message: QueuedPrompt) -> SendReply:
    """Withdraw a follow-up whose caller stopped waiting before it was answered."""
    so_far = follow_up(live, message).task
    is_taken = live.inbox.is_taken(message)
    live.inbox.withdraw(message)
    if is_taken:
        return SendReply(task=replace(so_far, summary=GOES_ON), goes_on=True)
    over = NOT_TAKEN if message.began is None else GIVEN_UP
    return SendReply(task=replace(so_far, status="cancelled", summary=over, ended_ms=live.task.updated_ms))


def withdrawn(task: Task, *, was_taken: bool) -> SendReply:
    """Return the reply to a follow-up that was withdrawn, before or after the process of the task has taken it."""
    over = GIVEN_UP if was_taken else NOT_TAKEN
    return SendReply(task=replace(_unanswered(task, "cancelled", over), ended_ms=task.updated_ms))


def _settled(message: QueuedPrompt, run: Run) -> Task:
    """Return what a prompt that was answered by `run` came to, as a task."""
    began, ended = message.began, message.ended
    if began is None or ended is None:
        raise AssertionError("A prompt that was answered has begun and ended.")
    own = replace(_between(began, ended), status="running", ended_ms=None, error=None)
    outcome = run.outcome or Succeeded()
    own = apply(own, TaskSettled(outcome=outcome), at_ms=ended.updated_ms)
    if isinstance(outcome, Cancelled) and ended.status != "cancelled":
        return replace(own, summary=outcome.reason)
    return own


def _between(began: Task, now: Task) -> Task:
    """Return what has happened in a task since `began`, as a task."""
    count = now.activity.event_total - began.activity.event_total
    runs = tuple(replace(run, is_follow_up=False) for run in now.runs[len(began.runs) :])
    said = now.text[len(began.text) :]
    activity = replace(
        now.activity,
        events=now.activity.events[-count:] if count else (),
        event_total=count,
        calls=_calls(began, now),
        said=(said,) if said else (),
        files=tuple(path for path in now.activity.files if path not in began.activity.files),
        usage=now.activity.usage.since(began.activity.usage),
    )
    return replace(
        now,
        runs=runs,
        started_ms=runs[0].started_ms if runs else None,
        activity=activity,
        diagnostics=now.diagnostics[len(began.diagnostics) :],
    )


def _calls(began: Task, now: Task) -> tuple[Recorded, ...]:
    newest = began.activity.calls[-1] if began.activity.calls else None
    return tuple(takewhile(lambda one: one is not newest, reversed(now.activity.calls)))[::-1]


def _unanswered(task: Task, status: Status, summary: str) -> Task:
    """Return the task of a follow-up that no run has taken."""
    none = _between(task, task)
    quiet = replace(none.activity, open_calls=())
    return replace(none, status=status, summary=summary, error=None, activity=quiet)
