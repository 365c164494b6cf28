"""The history of a task, in order and uncut, for people."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from ohm_subagents._views.cells import printable
from ohm_subagents._views.quantities import duration_text, instant_text
from ohm_subagents._views.request_texts import UNANSWERED, answer_text, request_text
from ohm_subagents._views.spans import marked
from ohm_subagents._views.task_texts import DONE, FAILED, STARTED, UPDATED, task_title
from ohm_subagents._views.theme import PLAIN
from ohm_subagents._views.verification import check_text
from ohm_subagents.contract.acceptance import OutcomeChecked
from ohm_subagents.contract.account import AccountCharged
from ohm_subagents.contract.events import (
    AgentEnded,
    Checkpointed,
    DiagnosticRaised,
    Event,
    FileChanged,
    Finalized,
    FollowUpTaken,
    GuardTripped,
    Recorded,
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
from ohm_subagents.contract.outcome import Cancelled, Failed, Outcome, Succeeded
from ohm_subagents.contract.requests import AnswerAwaited, AnswerGiven
from ohm_subagents.contract.workspace import WorkspaceKept

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ohm_subagents._views.spans import Span
    from ohm_subagents._views.theme import Theme
    from ohm_subagents.contract.task import Task

_STREAMS: Final[Mapping[type, str]] = MappingProxyType({TextDelta: "assistant", ThinkingDelta: "thinking"})
_WORK: Final = {
    "no": "kept its changes",
    "clean": "its changes have landed",
    "conflict": "its changes did not land",
    "discarded": "its changes were discarded",
}


class _Block(NamedTuple):
    heading: tuple[Span, ...]
    body: str
    token: str = ""
    """The token of a theme for the body."""


def transcript_lines(task: Task, history: Iterable[Recorded], *, theme: Theme = PLAIN) -> Iterator[str]:
    """Yield prompts, the assistant's text, tool calls, results and how each run ended; times count from the start.

    An answer that was streamed is not repeated.
    """
    transcript = Transcript(task, theme=theme)
    yield from transcript.head()
    for recorded in history:
        yield from transcript.add(recorded)
    yield from transcript.end()


class Transcript:
    """The transcript of a task that may go on: each block is complete once what comes after it is known."""

    def __init__(self, task: Task, *, theme: Theme = PLAIN) -> None:
        """Begin it, without any event."""
        self._asked, self._id = task.assignment, task.id
        self._theme = theme
        self._said = ""
        self._stream: str | None = None
        self._pieces: list[Recorded] = []

    def head(self) -> Iterator[str]:
        """Yield the lines above the first block."""
        asked = self._asked
        title = task_title(asked.profile, asked.description)
        yield self._line(("bold", title), ("dim", f" · {self._id} · {instant_text(asked.created_ms)}"))
        if asked.resumed_from is not None:
            yield self._line(("dim", f"Continues {asked.resumed_from}."))

    def add(self, recorded: Recorded) -> Iterator[str]:
        """Yield the lines of the blocks that are complete with an event."""
        event = recorded.event
        stream = _STREAMS.get(type(event))
        if stream != self._stream:
            yield from self.end()
            self._stream = stream
        if stream is not None:
            self._pieces.append(recorded)
        elif isinstance(event, RunEnded):
            if event.output.strip() not in {"", self._said.strip()}:
                yield from self._lines(recorded.at_ms, _Block((("bold", "answer"),), event.output.strip("\n")))
            self._said = ""
            yield from self._lines(recorded.at_ms, _ending(event.outcome))
        elif (block := _block(event)) is not None:
            yield from self._lines(recorded.at_ms, block)

    def end(self) -> Iterator[str]:
        """Yield the lines of a text that no other event has completed."""
        pieces, self._pieces = self._pieces, []
        text = "".join(one.event.text for one in pieces if isinstance(one.event, TextDelta | ThinkingDelta))
        if pieces and self._stream == "assistant":
            self._said = text
        if pieces and self._stream is not None and text.strip():
            is_thought = self._stream == "thinking"
            heading = ("dim" if is_thought else "bold", self._stream)
            yield from self._lines(pieces[0].at_ms, _Block((heading,), text.strip("\n"), "dim" if is_thought else ""))

    def _lines(self, at_ms: int, block: _Block) -> Iterator[str]:
        yield ""
        yield self._line(*block.heading, ("dim", f" · +{duration_text(at_ms - self._asked.created_ms)}"))
        for line in printable(block.body).split("\n") if block.body else ():
            yield self._line((block.token, f"  {line}")) if line else ""

    def _line(self, *spans: Span) -> str:
        return marked([(token, printable(text)) for token, text in spans], self._theme)


def _ending(outcome: Outcome) -> _Block:
    match outcome:
        case Succeeded():
            return _Block((("success", f"{DONE} succeeded"),), "")
        case Failed(error=error):
            return _Block((("error", f"{FAILED} failed"),), str(error), "error")
        case Cancelled(reason=reason):
            return _Block((("warning", f"{STARTED} cancelled"),), reason)


def _step(event: GuardTripped | ModelSelected) -> _Block:
    match event:
        case GuardTripped(guard=guard, step=step, message=message):
            return _Block((("warning", f"{guard}: {step}"),), message)
        case ModelSelected(model=model, why=why):
            return _Block((("dim", "model"),), f"{model} ({why})")


def _dialogue(event: AnswerAwaited | AnswerGiven) -> _Block:
    match event:
        case AnswerAwaited(request=request):
            return _Block((("warning", f"{STARTED} asks"),), request_text(request))
        case AnswerGiven(answer=answer, by=by):
            is_answered = by not in UNANSWERED
            heading = ("success", f"{DONE} answered") if is_answered else ("error", f"{FAILED} not answered")
            return _Block((heading,), answer_text(answer, by))


def _call(event: ToolStarted | ToolUpdated | ToolEnded) -> _Block:
    match event:
        case ToolStarted(tool=tool, args=args):
            return _Block((("accent", STARTED), ("bold", f" {tool}")), args, "muted")
        case ToolUpdated(tool=tool, text=text):
            return _Block((("dim", f"{UPDATED} {tool}"),), text, "dim")
        case ToolEnded(tool=tool, text=text, status=status):
            is_done = status == "success"
            mark = ("success", DONE) if is_done else ("error", FAILED)
            return _Block((mark, ("bold", f" {tool}")), text, "" if is_done else "error")


def _block(event: Event) -> _Block | None:  # noqa: C901  one arm an event is the point
    match event:
        case RunStarted(prompt=prompt):
            return _Block((("accent", "prompt"),), prompt)
        case FollowUpTaken(prompt=prompt):
            return _Block((("accent", "follow-up"),), prompt)
        case ToolStarted() | ToolUpdated() | ToolEnded():
            return _call(event)
        case FileChanged(path=path):
            return _Block((("dim", "wrote"),), path)
        case WorkspaceKept():
            return _Block((("dim", _WORK[event.landed]),), event.ref)
        case OutcomeChecked(verified=verified, checks=checks):
            mark = ("success", DONE) if verified == "passed" else ("error", FAILED)
            return _Block((mark, ("bold", f" checks {verified.replace('_', ' ')}")), "\n".join(map(check_text, checks)))
        case GuardTripped() | ModelSelected():
            return _step(event)
        case DiagnosticRaised(diagnostic=diagnostic):
            return _Block((("warning", "diagnostic"),), str(diagnostic))
        case AnswerAwaited() | AnswerGiven():
            return _dialogue(event)
        case TextDelta() | ThinkingDelta() | RunEnded():  # shown above
            return None
        case TaskQueued() | TaskSettled() | AgentEnded() | RequestHeld() | RequestReleased():
            return None
        case RouteResolved() | UsageAdded() | AccountCharged() | Checkpointed() | Finalized() | FeedRead():
            return None
