"""The history of a task, in order and uncut, for people."""

from __future__ import annotations

import sys
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from ohm_subagents._views.call_rows import CHANGE_TOKENS, call_words, seen_calls, taken_ms
from ohm_subagents._views.call_waits import ended_waits, waited_ms
from ohm_subagents._views.cells import hung, printable
from ohm_subagents._views.quantities import duration_text, instant_text
from ohm_subagents._views.request_texts import UNANSWERED, answer_text, landing_text
from ohm_subagents._views.spans import folded, marked
from ohm_subagents._views.task_texts import DONE, FAILED, STARTED, shown_error, task_title
from ohm_subagents._views.theme import PLAIN
from ohm_subagents._views.tool_calls import argument_lines, named_call, untold_lines
from ohm_subagents._views.verification import check_text
from ohm_subagents._views.waits import request_words
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

    from ohm_subagents._views.call_waits import CallWait
    from ohm_subagents._views.spans import Span
    from ohm_subagents._views.theme import Theme
    from ohm_subagents.contract.requests import Request
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


def transcript_lines(
    task: Task, history: Iterable[Recorded], *, theme: Theme = PLAIN, width: int = sys.maxsize
) -> Iterator[str]:
    """Yield prompts, the assistant's text, tool calls with their results and how each run ended.

    Times count from the start of the task. An answer that was streamed is not repeated. What is wider than `width` goes
    on in the next line.
    """
    transcript = Transcript(task, theme=theme, width=width)
    yield from transcript.head()
    for recorded in history:
        yield from transcript.add(recorded)
    yield from transcript.end()


class Transcript:
    """The transcript of a task that may go on: whole lines of a text are told as they come, a call at its end."""

    def __init__(self, task: Task, *, theme: Theme = PLAIN, width: int = sys.maxsize) -> None:
        """Begin it, without any event."""
        self._width = width
        self._asked, self._task = task.assignment, task
        self._theme = theme
        self._cwd = "" if task.launch is None else task.launch.cwd
        self._said = ""
        self._stream: str | None = None
        self._began_ms = 0
        self._spoke: list[str] = []
        """The text of the stream that goes on."""
        self._rest: list[str] = []
        """The part of it that is not told yet."""
        self._is_headed = False
        self._calls: dict[str, list[Recorded]] = {}
        """The events of each call that goes on."""
        self._requests: list[Request] = []
        self._waits: tuple[CallWait, ...] = ()

    def head(self) -> Iterator[str]:
        """Yield the lines above the first block."""
        asked = self._asked
        title = task_title(asked.profile, asked.description)
        yield from self._line(("bold", title), ("dim", f" · {self._task.id} · {instant_text(asked.created_ms)}"))
        if asked.resumed_from is not None:
            yield from self._line(("dim", f"Continues {asked.resumed_from}."))

    def add(self, recorded: Recorded) -> Iterator[str]:
        """Yield the lines of the blocks that are complete with an event."""
        event = recorded.event
        stream = _STREAMS.get(type(event))
        if stream != self._stream:
            yield from self._text()
            self._stream = stream
        if isinstance(event, TextDelta | ThinkingDelta):
            self._began_ms = self._began_ms if self._spoke else recorded.at_ms
            self._spoke.append(event.text)
            self._rest.append(event.text)
            if "\n" in event.text:
                yield from self._spoken()
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
        elif (block := _block(event, self._cwd)) is not None:
            self._note_wait(recorded)
            yield from self._lines(recorded.at_ms, block)

    def _note_wait(self, recorded: Recorded) -> None:
        event = recorded.event
        if isinstance(event, AnswerAwaited):
            self._requests.append(event.request)
        elif isinstance(event, AnswerGiven):
            self._waits += ended_waits(self._requests, event, at_ms=recorded.at_ms)

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
            waited = waited_ms(call.call_id, self._waits, began_ms=call.began_ms, ended_ms=call.ended_ms)
            took_ms = taken_ms(call, now_ms=call.ended_ms) - waited
            words = call_words(call, self._task, took_ms=took_ms, waited=waited)
            heading = (_MARKS.get(call.status, unended), *words)
            asked = tuple(untold_lines(named_call(call.tool, call.args), self._cwd))
            token = "error" if call.status == "error" else ""
            yield from self._lines(events[0].at_ms, _Block(heading, call.text, token, asked))

    def _text(self) -> Iterator[str]:
        """Yield the rest of a text that is over."""
        yield from self._spoken(is_over=True)
        if self._stream == "assistant" and self._spoke:
            self._said = "".join(self._spoke)
        self._spoke, self._rest, self._is_headed = [], [], False

    def _spoken(self, *, is_over: bool = False) -> Iterator[str]:
        """Yield the lines of a text that are whole and not told yet, the first of them below its heading."""
        rest = "".join(self._rest)
        if not self._is_headed:
            rest = rest.lstrip("\n") if rest.strip() else ""
        if self._stream is None or not rest.strip("\n") or not (is_over or "\n" in rest):
            return
        is_whole = is_over or rest.endswith("\n")
        whole = rest.rstrip("\n") if is_whole else rest.rpartition("\n")[0]
        is_thought = self._stream == "thinking"
        token = "dim" if is_thought else ""
        if not self._is_headed:
            yield from self._heading(self._began_ms, ("dim" if is_thought else "bold", self._stream))
        self._is_headed, self._rest = True, [rest[len(whole) + 1 :]]
        yield from self._body(whole, token)

    def _lines(self, at_ms: int, block: _Block) -> Iterator[str]:
        yield from self._heading(at_ms, *block.heading)
        for line in block.asked:
            yield from self._body(line, CHANGE_TOKENS.get(line[:1], "muted"))
        if block.body:
            yield from self._body(block.body, block.token)

    def _heading(self, at_ms: int, *spans: Span) -> Iterator[str]:
        yield ""
        yield from self._line(*spans, ("dim", f" · +{duration_text(at_ms - self._asked.created_ms)}"))

    def _body(self, text: str, token: str) -> Iterator[str]:
        for line in hung("\n".join(f"  {line}" if line else "" for line in printable(text).split("\n")), self._width):
            yield marked([(token, line)], self._theme)

    def _line(self, *spans: Span) -> Iterator[str]:
        shown = [(token, printable(text)) for token, text in spans]
        for line in folded(shown, self._width, margin="    "):
            yield marked(line, self._theme)


def _ending(outcome: Outcome) -> _Block:
    match outcome:
        case Succeeded():
            return _Block((("success", f"{DONE} succeeded"),), "")
        case Failed(error=error):
            return _Block((("error", f"{FAILED} failed"),), str(shown_error(error)), "error")
        case Cancelled(reason=reason):
            return _Block((("warning", f"{STARTED} cancelled"),), reason)


def _step(event: GuardTripped | ModelSelected) -> _Block:
    match event:
        case GuardTripped(guard=guard, step=step, message=message):
            return _Block((("warning", f"{guard}: {step}"),), message)
        case ModelSelected(model=model, why=why):
            return _Block((("dim", "model"),), f"{model} ({why})")


def _dialogue(event: AnswerAwaited | AnswerGiven, cwd: str) -> _Block:
    match event:
        case AnswerAwaited(request=request):
            is_call = request.kind == "tool" and not landing_text(request)
            whole = argument_lines(named_call(request.tool, request.arguments)) if is_call else ()
            return _Block((("warning", f"{STARTED} asks: {request_words(request, cwd)}"),), "\n".join(whole))
        case AnswerGiven(answer=answer, by=by):
            is_answered = by not in UNANSWERED
            heading = ("success", f"{DONE} answered") if is_answered else ("error", f"{FAILED} not answered")
            return _Block((heading,), answer_text(answer, by))


def _block(event: Event, cwd: str) -> _Block | None:  # noqa: C901  one arm an event is the point
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
            return _dialogue(event, cwd)
        case TextDelta() | ThinkingDelta() | ToolStarted() | ToolUpdated() | ToolEnded() | RunEnded():  # shown above
            return None
        case TaskQueued() | TaskSettled() | AgentEnded() | RequestHeld() | RequestReleased():
            return None
        case RouteResolved() | UsageAdded() | AccountCharged() | Checkpointed() | Finalized() | FeedRead():
            return None
