"""The timeline of a task: its waiting, runs, model requests, tool calls and guards, from its events, as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_subagents.contract import (
    AnswerAwaited,
    AnswerGiven,
    Deny,
    Failed,
    GuardTripped,
    RequestHeld,
    RequestReleased,
    RunEnded,
    RunStarted,
    Succeeded,
    TaskQueued,
    TaskSettled,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    UsageAdded,
)
from ohm_subagents.contract.model_route import ModelSelected, RouteResolved
from ohm_subagents.ui.shapes import Span
from ohm_subagents.ui.words import answered_words, call_words
from ohm_subagents.views import asked_text, held_text, one_line, queued_text

if TYPE_CHECKING:
    from ohm_subagents.contract import Recorded
    from ohm_subagents.contract.outcome import Outcome
    from ohm_subagents.ui.shapes import SpanKind, SpanStatus

_LABEL_CHARS: Final = 300
_MODEL: Final = "model"
_QUEUED: Final = "queued"
_RUN: Final = "run"
_HOLD: Final = "held"


def status_of(outcome: Outcome) -> SpanStatus:
    """Return the status of what has ended so."""
    return "done" if isinstance(outcome, Succeeded) else "failed" if isinstance(outcome, Failed) else "cancelled"


def status_of_answer(event: AnswerGiven) -> SpanStatus:
    """Return the status of a wait that an answer has ended: one that ended with its task has failed in nothing."""
    if not isinstance(event.answer, Deny):
        return "done"
    return "cancelled" if event.by == "cancel" else "failed"


class Timeline:
    """The spans of one task so far.

    No event tells when a model was asked. It is taken to be asked when nothing else goes on: from the start of a run,
    the end of its last open tool call, or the end of a wait, to its usage, the next tool call, or the end of the run.
    """

    def __init__(self, task_id: str, cwd: str = "") -> None:
        """Begin it, without any event."""
        self.spans: list[Span] = []
        self._task_id = task_id
        self._cwd = cwd
        self._open: dict[str, Span] = {}
        self._tools: set[str] = set()
        self._model = "model request"
        self._has_answered = False

    def add(self, recorded: Recorded) -> None:  # noqa: C901, PLR0912  one arm an event
        """Take in what happened; an event that is in no span changes nothing."""
        at_ms, event = recorded.at_ms, recorded.event
        match event:
            case TaskQueued():
                self._begin(_QUEUED, "queued", queued_text(), at_ms)
            case RunStarted():
                self._end(_QUEUED, at_ms)
                self._begin(_RUN, "run", event.prompt, at_ms)
                self._ask(at_ms)
            case RouteResolved() | ModelSelected():
                self._name(event)
            case TextDelta() | ThinkingDelta():
                self._ask(at_ms)
                self._has_answered = True
            case ToolStarted():
                self._end(_MODEL, at_ms)
                self._tools.add(event.call_id)
                self._begin(f"tool {event.call_id}", "tool", call_words(event.tool, event.args, self._cwd), at_ms)
            case ToolEnded():
                self._tools.discard(event.call_id)
                ends: dict[str, SpanStatus] = {"success": "done", "error": "failed"}
                self._end(f"tool {event.call_id}", at_ms, ends.get(event.status, "cancelled"))
                self._ask(at_ms)
            case UsageAdded():
                self._end(_MODEL, at_ms)
            case RequestHeld():
                self._forget_unanswered()
                self._begin(_HOLD, "wait", held_text(event), at_ms)
            case RequestReleased():
                self._end(_HOLD, at_ms)
                self._ask(at_ms)
            case AnswerAwaited():
                self._begin(f"asks {event.request.id}", "wait", asked_text(event.request, self._cwd), at_ms)
            case AnswerGiven():
                self._answered(event, at_ms)
            case GuardTripped():
                self._point(event, at_ms)
            case RunEnded():
                self._forget_unanswered()
                self._end_all(at_ms, status_of(event.outcome))
            case TaskSettled():
                self._end_all(at_ms, status_of(event.outcome))
            case _:  # no other event takes time, and a new one does not either unless it is added above
                pass

    def _name(self, event: RouteResolved | ModelSelected) -> None:
        self._model = one_line(event.model or "") or self._model
        if _MODEL in self._open:
            self._open[_MODEL]["label"] = self._model

    def _ask(self, at_ms: int) -> None:
        if _RUN in self._open and not self._tools and _MODEL not in self._open and _HOLD not in self._open:
            self._begin(_MODEL, "model", self._model, at_ms)
            self._has_answered = False

    def _forget_unanswered(self) -> None:
        """Drop a model request of which nothing came: there was none."""
        if not self._has_answered and (span := self._open.pop(_MODEL, None)) is not None:
            self.spans.remove(span)

    def _answered(self, event: AnswerGiven, at_ms: int) -> None:
        span = self._open.get(f"asks {event.request_id}")
        if span is not None:
            span["label"] = f"{span['label']} · {answered_words(event.answer, event.by)}"[:_LABEL_CHARS]
            self._end(f"asks {event.request_id}", at_ms, status_of_answer(event))

    def _point(self, event: GuardTripped, at_ms: int) -> None:
        self._begin("guard", "guard", f"{event.guard}: {event.step} · {event.message}", at_ms)
        self._end("guard", at_ms, "failed" if event.step == "stop" else "warning")

    def _begin(self, key: str, kind: SpanKind, label: str, at_ms: int) -> None:
        span = Span(
            id=f"{self._task_id}:{len(self.spans)}:{at_ms}",
            task=self._task_id,
            kind=kind,
            label=one_line(label[:_LABEL_CHARS]),
            start_ms=at_ms,
            end_ms=None,
            status="running",
        )
        self.spans.append(span)
        self._open[key] = span

    def _end(self, key: str, at_ms: int, status: SpanStatus = "done") -> None:
        span = self._open.pop(key, None)
        if span is not None:
            span["end_ms"], span["status"] = at_ms, status
            if span["kind"] == "model" and span["start_ms"] == at_ms:  # nobody was asked
                self.spans.remove(span)

    def _end_all(self, at_ms: int, status: SpanStatus) -> None:
        for key in [*self._open]:
            self._end(key, at_ms, status)
        self._tools.clear()
