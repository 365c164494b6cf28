"""Tasks without secrets: what happens in one is redacted before it is recorded."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from ohm_subagents._orchestrator.run.stream_redactor import StreamRedactor, redacted_answer, redacted_json
from ohm_subagents.contract.acceptance import OutcomeChecked
from ohm_subagents.contract.account import AccountCharged
from ohm_subagents.contract.diagnostics import CUT_OFF
from ohm_subagents.contract.events import (
    AgentEnded,
    Checkpointed,
    DiagnosticRaised,
    FileChanged,
    Finalized,
    FollowUpTaken,
    GuardTripped,
    RequestHeld,
    RequestReleased,
    RunEnded,
    RunStarted,
    TaskQueued,
    TaskSettled,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    UsageAdded,
)
from ohm_subagents.contract.feed import FeedRead
from ohm_subagents.contract.model_route import ModelSelected, RouteResolved
from ohm_subagents.contract.outcome import Cancelled, Failed, Succeeded
from ohm_subagents.contract.requests import AnswerAwaited, AnswerGiven, Approve, Deny, Text
from ohm_subagents.contract.workspace import WorkspaceKept

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ohm_subagents.contract.acceptance import CheckResult
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.outcome import Outcome
    from ohm_subagents.contract.requests import Answer, Request
    from ohm_subagents.contract.task import Run, Task
    from ohm_subagents.contract.text import Redactor

OF_ERRORS: Final = ("message", "advice", "summary", "cause")


def redacted_task(task: Task, redactor: Redactor) -> Task:
    """Return a new task with redacted texts of its own and of the runs that it continues."""
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


class EventRedactor:
    """Takes the secrets out of the events of one task.

    Text is recorded when it is whole: it is held back until something ends it, whatever comes in between. Pieces of the
    output of a tool are not recorded, its whole output is.
    """

    __slots__ = ("_is_cut", "_keeps_state", "_redactor", "_stream", "text")

    def __init__(self, redactor: Redactor, *, keeps_state: bool) -> None:
        """Drop checkpoints unless `keeps_state`: a conversation is not redacted."""
        self.text = redactor.text
        self._redactor = redactor
        self._stream = StreamRedactor(redactor)
        self._is_cut = False
        self._keeps_state = keeps_state

    @property
    def holds_text(self) -> bool:
        """Return True while a text is not recorded yet."""
        return self._stream.is_holding

    def events(self, event: Event) -> Iterator[Event]:
        """Yield what may be recorded now that `event` has come."""
        if isinstance(event, DiagnosticRaised | RunStarted):
            self._is_cut = isinstance(event, DiagnosticRaised) and (
                self._is_cut or event.diagnostic.message.startswith(CUT_OFF)
            )
        match event:
            case TextDelta() | ThinkingDelta():
                yield from self._stream.add(event)
            case UsageAdded() | AgentEnded():
                yield from self._stream.followed_by(event)
            case Checkpointed():  # a run that breaks off saves its state too, in the middle of a text
                yield from self._stream.followed_by(*([event] if self._keeps_state else []))
            case RunEnded(outcome=outcome, output=output) if self._is_cut or not isinstance(outcome, Succeeded):
                yield from self._stream.whole(is_broken=True)
                yield redacted_event(replace(event, output=self._redactor.cut_off(output)), self._redactor)
            case TaskSettled(outcome=outcome):
                yield from self._stream.whole(is_broken=not isinstance(outcome, Succeeded))
                yield redacted_event(event, self._redactor)
            case ToolStarted() | ToolEnded() | Finalized() | RunStarted() | FollowUpTaken() | RunEnded():
                yield from self._stream.whole()
                yield redacted_event(event, self._redactor)
            case _:  # it says nothing of what the text around it is
                yield redacted_event(event, self._redactor)


def redacted_event(event: Event, redactor: Redactor) -> Event:  # noqa: C901  one arm an event is the point
    """Return the event without secrets."""
    changes: dict[str, Any] = {name: redactor.text(getattr(event, name)) for name in event.TEXTS}
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
            advice = redactor.text(diagnostic.advice)
            changes["diagnostic"] = replace(diagnostic, subject=subject, message=message, advice=advice, source=source)
        case OutcomeChecked(checks=checks):
            changes["checks"] = tuple(_redacted_check(one, redactor) for one in checks)
        case AnswerAwaited(request=request):
            changes["request"] = _redacted_request(request, redactor)
        case AnswerGiven(answer=answer):
            changes["answer"] = _redacted_answer(answer, redactor)
        case RunEnded(outcome=outcome) | TaskSettled(outcome=outcome):
            changes["outcome"] = _redacted_outcome(outcome, redactor)
        case TextDelta() | ThinkingDelta() | ToolEnded() | FileChanged() | FollowUpTaken() | RunStarted():
            pass  # what they say is in their `TEXTS`, as it is of those below
        case ModelSelected() | RouteResolved() | RequestHeld() | RequestReleased() | GuardTripped() | WorkspaceKept():
            pass
        case UsageAdded() | AccountCharged() | TaskQueued() | FeedRead() | Checkpointed() | AgentEnded():
            pass  # they have no text; a state to go on from is kept out above, where nothing may be
    return replace(event, **changes)


def _redacted_check(result: CheckResult, redactor: Redactor) -> CheckResult:
    text = redactor.text
    return replace(result, check=text(result.check), why=text(result.why), output=text(result.output))


def _redacted_request(request: Request, redactor: Redactor) -> Request:
    return replace(
        request,
        arguments=redacted_json(request.arguments, redactor),
        question=redactor.text(request.question),
        options=tuple(map(redactor.text, request.options)),
        reason=redactor.text(request.reason),
    )


def _redacted_answer(answer: Answer, redactor: Redactor) -> Answer:
    match answer:
        case Text(text=text):
            return Text(redactor.text(text))
        case Deny(reason=reason):
            return Deny(redactor.text(reason))
        case Approve():
            return answer


def _redacted_outcome(outcome: Outcome, redactor: Redactor) -> Outcome:
    match outcome:
        case Failed(error=error):
            texts: dict[str, Any] = {name: redactor.text(getattr(error, name)) for name in OF_ERRORS}
            return Failed(error=replace(error, **texts))
        case Cancelled(reason=reason):
            return Cancelled(reason=redactor.text(reason))
        case Succeeded():
            return outcome
