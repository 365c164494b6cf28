"""Tasks without secrets: what happens in one is redacted before anybody hears of it."""

from __future__ import annotations

import traceback
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ohm_subagents._orchestrator.held_text import HeldText, redacted_answer, redacted_json
from ohm_subagents._orchestrator.live import LiveTask
from ohm_subagents.contract.diagnostics import CUT_OFF
from ohm_subagents.contract.events import (
    AgentEnded,
    Cancelled,
    Checkpointed,
    DiagnosticRaised,
    Failed,
    FileChanged,
    Finalized,
    FollowUpTaken,
    GuardTripped,
    RequestHeld,
    RouteResolved,
    RunEnded,
    RunStarted,
    Succeeded,
    TaskSettled,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    UsageAdded,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ohm_subagents._orchestrator.admission.plan import Plan
    from ohm_subagents._orchestrator.call_context import CallContext
    from ohm_subagents._orchestrator.observe.observers import Observers
    from ohm_subagents._store.protocol import Store
    from ohm_subagents.contract.events import Event, Outcome
    from ohm_subagents.contract.ids import Clock
    from ohm_subagents.contract.redaction import Redactor
    from ohm_subagents.contract.run import Run
    from ohm_subagents.contract.task import Task

TEXTS: Final[Mapping[type[Event], tuple[str, ...]]] = {
    TextDelta: ("text",),
    ThinkingDelta: ("text",),
    ToolStarted: ("tool",),
    ToolUpdated: ("tool",),
    ToolEnded: ("tool", "text"),
    RouteResolved: ("provider", "model"),
    RequestHeld: ("provider",),
    FileChanged: ("path",),
    RunStarted: ("prompt",),
    FollowUpTaken: ("prompt",),
    GuardTripped: ("message",),
    RunEnded: ("output", "summary"),
}
"""What of an event is text that somebody wrote."""
OF_ERRORS: Final = ("message", "advice", "summary", "cause")


def live_task(
    task: Task, plan: Plan, *, clock: Clock, store: Store, observers: Observers, caller: CallContext
) -> LiveTask:
    """The task, live; without secrets if its item wants that."""
    redactor = plan.item.redaction
    if redactor is None:
        return LiveTask(task, plan, clock=clock, store=store, observers=observers, caller=caller)
    task = redacted_task(task, redactor)
    return RedactedTask(task, plan, redactor, clock=clock, store=store, observers=observers, caller=caller)


def redacted_task(task: Task, redactor: Redactor) -> Task:
    """A task of which nothing has happened yet, with redacted texts of its own and of what it goes on with."""
    text = redactor.text
    assignment = replace(
        task.assignment,
        name=text(task.assignment.name),
        description=text(task.assignment.description),
        prompt=text(task.assignment.prompt),
        inherited=tuple(_redacted_run(run, redactor) for run in task.assignment.inherited),
    )
    return replace(task, assignment=assignment, summary=text(task.summary))


def _redacted_run(run: Run, redactor: Redactor) -> Run:
    text = redactor.text
    return replace(
        run,
        prompt=text(run.prompt),
        follow_ups=tuple(text(prompt) for prompt in run.follow_ups),
        output=None if run.output is None else text(run.output),
        summary=text(run.summary),
        outcome=None if run.outcome is None else _redacted_outcome(run.outcome, redactor),
    )


class RedactedTask(LiveTask):
    """Text is recorded when it is whole: it is held back until something ends it, whatever comes in between.

    Pieces of the output of a tool are not recorded, its whole output is.
    """

    __slots__ = ("_held", "_is_cut", "_keeps_state", "_redactor")

    def __init__(
        self,
        task: Task,
        plan: Plan,
        redactor: Redactor,
        *,
        clock: Clock,
        store: Store,
        observers: Observers,
        caller: CallContext,
    ) -> None:
        super().__init__(task, plan, clock=clock, store=store, observers=observers, caller=caller)
        self._redactor = redactor
        self._held = HeldText(redactor)
        self._is_cut = False
        item = plan.item
        self._keeps_state = not item.is_one_shot or item.session_id is not None or plan.profile.finalize is not None

    def told(self, text: str) -> str:
        return self._redactor.text(text)

    def record(self, event: Event) -> None:
        for one in self._redacted(event):
            super().record(one)

    def log_crash(self, error: BaseException) -> None:
        told = self.told("".join(traceback.format_exception(error)))
        self.observers.logger.error(
            "backend.raised", task_id=self.task.id, backend=self.task.assignment.backend, traceback=told
        )

    def _redacted(self, event: Event) -> Iterator[Event]:
        """What may be recorded now."""
        if isinstance(event, DiagnosticRaised | RunStarted):
            self._is_cut = isinstance(event, DiagnosticRaised) and (
                self._is_cut or event.diagnostic.message.startswith(CUT_OFF)
            )
        match event:
            case TextDelta() | ThinkingDelta():
                yield from self._held.add(event)
            case UsageAdded() | AgentEnded():
                yield from self._held.followed_by(event)
            case Checkpointed():  # a run that breaks off saves its state too, in the middle of a text
                yield from self._held.followed_by(*([event] if self._keeps_state else []))
            case RunEnded(outcome=outcome, output=output) if self._is_cut or not isinstance(outcome, Succeeded):
                yield from self._held.whole(is_broken=True)
                yield redacted_event(replace(event, output=self._redactor.cut_off(output)), self._redactor)
            case TaskSettled(outcome=outcome):
                yield from self._held.whole(is_broken=not isinstance(outcome, Succeeded))
                yield redacted_event(event, self._redactor)
            case ToolStarted() | ToolEnded() | Finalized() | RunStarted() | FollowUpTaken() | RunEnded():
                yield from self._held.whole()
                yield redacted_event(event, self._redactor)
            case _:  # it says nothing of what the text around it is
                yield redacted_event(event, self._redactor)


def redacted_event(event: Event, redactor: Redactor) -> Event:
    """The same without secrets."""
    changes: dict[str, Any] = {name: redactor.text(getattr(event, name)) for name in TEXTS.get(type(event), ())}
    match event:
        case ToolStarted(args=args):
            changes["args"] = redacted_json(args, redactor)
        case Finalized(result=result, error=error):
            changes["result"] = None if result is None else redacted_answer(result, redactor)
            changes["error"] = None if error is None else redactor.text(error)
        case ToolUpdated():
            changes["text"] = ""
        case DiagnosticRaised(diagnostic=diagnostic):
            source = None if diagnostic.source is None else redactor.text(diagnostic.source)
            subject, message = redactor.text(diagnostic.subject), redactor.text(diagnostic.message)
            changes["diagnostic"] = replace(diagnostic, subject=subject, message=message, source=source)
        case RunEnded(outcome=outcome) | TaskSettled(outcome=outcome):
            changes["outcome"] = _redacted_outcome(outcome, redactor)
        case _:
            pass
    return replace(event, **changes)


def _redacted_outcome(outcome: Outcome, redactor: Redactor) -> Outcome:
    match outcome:
        case Failed(error=error):
            texts: dict[str, Any] = {name: redactor.text(getattr(error, name)) for name in OF_ERRORS}
            return Failed(error=replace(error, **texts))
        case Cancelled(reason=reason):
            return Cancelled(reason=redactor.text(reason))
        case Succeeded():
            return outcome
