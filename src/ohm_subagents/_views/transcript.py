"""The history of a task, in order and uncut, for people."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from ohm_subagents._views.call_rows import CHANGE_TOKENS, call_words, seen_calls, taken_ms
from ohm_subagents._views.cells import printable
from ohm_subagents._views.quantities import duration_text, instant_text
from ohm_subagents._views.request_texts import UNANSWERED, answer_text, request_text
from ohm_subagents._views.spans import marked
from ohm_subagents._views.task_texts import DONE, FAILED, STARTED, task_title
from ohm_subagents._views.theme import PLAIN
from ohm_subagents._views.tool_calls import named_call, untold_lines
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
_CUT_OFF: Final = ("error", FAILED)
_MARKS: Final[Mapping[str | None, Span]] = MappingProxyType({"success": ("success", DONE), "error": _CUT_OFF})
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
    asked: tuple[str, ...] = ()
    """The lines above the body: what a call asks beside its heading."""


def transcript_lines(task: Task, history: Iterable[Recorded], *, theme: Theme = PLAIN) -> Iterator[str]:
    """Yield prompts, the assistant's text, tool calls with their results and how each run ended.

    Times count from the start of the task. An answer that was streamed is not repeated.
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
        self._asked, self._task = task.assignment, task
        self._theme = theme
        self._cwd = "" if task.launch is None else task.launch.cwd
        self._said = ""
        self._stream: str | None = None
        self._pieces: list[Recorded] = []
        self._calls: dict[str, list[Recorded]] = {}
        """The events of each call that goes on."""

    def head(self) -> Iterator[str]:
        """Yield the lines above the first block."""
        asked = self._asked
        title = task_title(asked.profile, asked.description)
        yield self._line(("bold", title), ("dim", f" · {self._task.id} · {instant_text(asked.created_ms)}"))
        if asked.resumed_from is not None:
            yield self._line(("dim", f"Continues {asked.resumed_from}."))

    def add(self, recorded: Recorded) -> Iterator[str]:
        """Yield the lines of the blocks that are complete with an event."""
        event = recorded.event
        stream = _STREAMS.get(type(event))
        if stream != self._stream:
            yield from self._text()
            self._stream = stream
        if stream is not None:
            self._pieces.append(recorded)
        elif isinstance(event, ToolStarted | ToolUpdated):
            self._calls.setdefault(event.call_id, []).append(recorded)
        elif isinstance(event, ToolEnded):
            yield from self._call([*self._calls.pop(event.call_id, ()), recorded], _CUT_OFF)
        elif isinstance(event, RunEnded):
            yield from self._open_calls(_CUT_OFF)
            if event.output.strip() not in {"", self._said.strip()}:
                yield from self._lines(recorded.at_ms, _Block((("bold", "answer"),), event.output.strip("\n")))
            self._said = ""
            yield from self._lines(recorded.at_ms, _ending(event.outcome))
        elif (block := _block(event)) is not None:
            yield from self._lines(recorded.at_ms, block)

    def begun(self, recorded: Recorded) -> Iterator[str]:
        """Yield the row of a call that an event begins, for a reader who waits for its end."""
        for call in seen_calls([recorded]) if isinstance(recorded.event, ToolStarted) else ():
            words = call_words(call, self._task, took_ms=0)
            yield from self._lines(recorded.at_ms, _Block((("accent", STARTED), *words), ""))

    def end(self) -> Iterator[str]:
        """Yield the lines of what no other event has completed."""
        yield from self._text()
        yield from self._open_calls(("accent", STARTED))

    def _open_calls(self, mark: Span) -> Iterator[str]:
        """Yield the calls that have not ended, as far as they have come."""
        calls, self._calls = self._calls, {}
        for events in calls.values():
            yield from self._call(events, mark)

    def _call(self, events: list[Recorded], unended: Span) -> Iterator[str]:
        for call in seen_calls(events):
            words = call_words(call, self._task, took_ms=taken_ms(call, now_ms=call.ended_ms))
            heading = (_MARKS.get(call.status, unended), *words)
            asked = tuple(untold_lines(named_call(call.tool, call.args), self._cwd))
            token = "error" if call.status == "error" else ""
            yield from self._lines(events[0].at_ms, _Block(heading, call.text, token, asked))

    def _text(self) -> Iterator[str]:
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
        for line in block.asked:
            token = CHANGE_TOKENS.get(line[:1], "muted")
            yield from (self._line((token, f"  {each}")) for each in printable(line).split("\n"))
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


def _block(event: Event) -> _Block | None:  # noqa: C901  one arm an event is the point
    match event:
        case RunStarted(prompt=prompt):
            return _Block((("accent", "prompt"),), prompt)
        case FollowUpTaken(prompt=prompt):
            return _Block((("accent", "follow-up"),), prompt)
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
        case TextDelta() | ThinkingDelta() | ToolStarted() | ToolUpdated() | ToolEnded() | RunEnded():  # shown above
            return None
        case TaskQueued() | TaskSettled() | AgentEnded() | RequestHeld() | RequestReleased():
            return None
        case RouteResolved() | UsageAdded() | AccountCharged() | Checkpointed() | Finalized() | FeedRead():
            return None
