"""The history of a task, in order and uncut, for people."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ohm_subagents._views.cells import printable
from ohm_subagents._views.quantities import duration_text, instant_text
from ohm_subagents._views.request_texts import UNANSWERED, answer_text, request_text
from ohm_subagents._views.task_texts import DONE, FAILED, STARTED, UPDATED, task_title
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

    from ohm_subagents.contract.task import Task

_STREAMS: Final[Mapping[type, str]] = MappingProxyType({TextDelta: "assistant", ThinkingDelta: "thinking"})


def transcript_lines(task: Task, history: Iterable[Recorded]) -> Iterator[str]:
    """Yield prompts, the assistant's text, tool calls, results and how each run ended; times count from the start.

    An answer that was streamed is not repeated.
    """
    transcript = Transcript(task)
    yield from transcript.head()
    for recorded in history:
        yield from transcript.add(recorded)
    yield from transcript.end()


class Transcript:
    """The transcript of a task that may go on: each block is complete once what comes after it is known."""

    def __init__(self, task: Task) -> None:
        """Begin it, without any event."""
        self._asked, self._id = task.assignment, task.id
        self._said = ""
        self._stream: str | None = None
        self._pieces: list[Recorded] = []

    def head(self) -> Iterator[str]:
        """Yield the lines above the first block."""
        asked = self._asked
        yield printable(
            f"{task_title(asked.profile, asked.description)} · {self._id} · {instant_text(asked.created_ms)}"
        )
        if asked.resumed_from is not None:
            yield printable(f"Continues {asked.resumed_from}.")

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
                yield from self._lines(recorded.at_ms, "answer", event.output.strip("\n"))
            self._said = ""
            yield from self._lines(recorded.at_ms, *_ending(event.outcome))
        elif (block := _block(event)) is not None:
            yield from self._lines(recorded.at_ms, *block)

    def end(self) -> Iterator[str]:
        """Yield the lines of a text that no other event has completed."""
        pieces, self._pieces = self._pieces, []
        text = "".join(one.event.text for one in pieces if isinstance(one.event, TextDelta | ThinkingDelta))
        if pieces and self._stream == "assistant":
            self._said = text
        if pieces and self._stream is not None and text.strip():
            yield from self._lines(pieces[0].at_ms, self._stream, text.strip("\n"))

    def _lines(self, at_ms: int, heading: str, body: str) -> Iterator[str]:
        yield ""
        yield printable(f"{heading} · +{duration_text(at_ms - self._asked.created_ms)}")
        yield from (f"  {line}" if line else "" for line in printable(body).split("\n") if body)


def _ending(outcome: Outcome) -> tuple[str, str]:
    match outcome:
        case Succeeded():
            return f"{DONE} succeeded", ""
        case Failed(error=error):
            return f"{FAILED} failed", str(error)
        case Cancelled(reason=reason):
            return f"{STARTED} cancelled", reason


def _step(event: GuardTripped | ModelSelected) -> tuple[str, str]:
    match event:
        case GuardTripped(guard=guard, step=step, message=message):
            return f"{guard}: {step}", message
        case ModelSelected(model=model, why=why):
            return "model", f"{model} ({why})"


def _dialogue(event: AnswerAwaited | AnswerGiven) -> tuple[str, str]:
    match event:
        case AnswerAwaited(request=request):
            return f"{STARTED} asks", request_text(request)
        case AnswerGiven(answer=answer, by=by):
            return f"{FAILED} not answered" if by in UNANSWERED else f"{DONE} answered", answer_text(answer, by)


def _block(event: Event) -> tuple[str, str] | None:  # noqa: C901, PLR0912  one arm an event is the point
    match event:
        case RunStarted(prompt=prompt):
            return "prompt", prompt
        case FollowUpTaken(prompt=prompt):
            return "follow-up", prompt
        case ToolStarted(tool=tool, args=args):
            return f"{STARTED} {tool}", args
        case ToolUpdated(tool=tool, text=text):
            return f"{UPDATED} {tool}", text
        case ToolEnded(tool=tool, text=text, status=status):
            return f"{DONE if status == 'success' else FAILED} {tool}", text
        case FileChanged(path=path):
            return "wrote", path
        case WorkspaceKept(ref=ref):
            return "kept its changes", ref
        case GuardTripped() | ModelSelected():
            return _step(event)
        case DiagnosticRaised(diagnostic=diagnostic):
            return "diagnostic", str(diagnostic)
        case AnswerAwaited() | AnswerGiven():
            return _dialogue(event)
        case TextDelta() | ThinkingDelta() | RunEnded():  # shown above
            return None
        case TaskQueued() | TaskSettled() | AgentEnded() | RequestHeld() | RequestReleased():
            return None
        case RouteResolved() | UsageAdded() | AccountCharged() | Checkpointed() | Finalized() | FeedRead():
            return None
