"""The transcript of a task as entries, from its events, as they come: an entry changes until it is complete."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from ohm_subagents.contract import (
    AnswerAwaited,
    AnswerGiven,
    Cancelled,
    DiagnosticRaised,
    Failed,
    FollowUpTaken,
    GuardTripped,
    RunEnded,
    RunStarted,
    Succeeded,
    TaskSettled,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
)
from ohm_subagents.contract.acceptance import OutcomeChecked
from ohm_subagents.contract.model_route import ModelSelected
from ohm_subagents.contract.workspace import WorkspaceKept
from ohm_subagents.ui.markup import markup
from ohm_subagents.ui.shapes import Entry
from ohm_subagents.ui.timeline import status_of, status_of_answer
from ohm_subagents.ui.words import answered_words, call_words
from ohm_subagents.views import (
    Hearing,
    changed_lines,
    changes_text,
    check_text,
    one_line,
    printable,
    request_words,
    shown_error,
)

if TYPE_CHECKING:
    from ohm_subagents.contract import Recorded
    from ohm_subagents.contract.outcome import Outcome
    from ohm_subagents.contract.requests import Request
    from ohm_subagents.ui.shapes import EntryKind, EntryStatus, SpanStatus

MOST_CHARS: Final = 50_000
"""The most characters of an entry: `ohm task <id> --transcript` has all of them."""
MOST_DIFF: Final = 400
_FOLLOW_UP: Final = "follow-up"
_MARKDOWN: Final = frozenset({"prompt", "answer"})


@dataclass(slots=True, kw_only=True)
class _Draft:
    """An entry that may change."""

    id: int
    seq: int
    at_ms: int
    kind: EntryKind
    title: str
    status: EntryStatus = "done"
    pieces: list[str] = field(default_factory=list[str])
    chars: int = 0
    diff: list[str] | None = None
    took_ms: int | None = None
    waited_ms: int = 0
    drawn: Entry | None = None


class Entries:
    """The entries of one task so far. The number of an event is that of the changes it makes."""

    def __init__(self, cwd: str = "") -> None:
        """Begin it, without any event."""
        self._cwd = cwd
        self._seq = 0
        self._drafts: list[_Draft] = []
        self._calls: dict[str, _Draft] = {}
        self._asked: dict[str, tuple[_Draft, _Draft | None]] = {}
        self._hearing = Hearing()
        self._sent: dict[str, list[_Draft]] = {}
        self._streamed: _Draft | None = None
        self._said: _Draft | None = None

    @property
    def newest(self) -> int:
        """The number of the newest change."""
        return self._seq

    def after(self, seq: int) -> list[Entry]:
        """Return the entries that are new or have changed after a number, in the order of their places."""
        return [_drawn(draft) for draft in self._drafts if draft.seq > seq]

    def add(self, recorded: Recorded) -> None:
        """Take in what happened; an event that is in no entry changes nothing."""
        self._seq += 1
        at_ms, event = recorded.at_ms, recorded.event
        for heard in self._hearing.see(event):
            for draft in self._sent.pop(heard.call_id, ()):
                draft.title, draft.seq = _FOLLOW_UP, self._seq
        match event:
            case TextDelta():
                self._stream("answer", "said", event.text, at_ms)
            case ThinkingDelta():
                self._stream("thinking", "thinking", event.text, at_ms)
            case ToolStarted() | ToolUpdated() | ToolEnded():
                self._complete()
                self._tool(event, at_ms)
            case RunEnded():
                self._complete()
                self._answer(event, at_ms)
                self._close(event.outcome, at_ms)
            case TaskSettled():
                self._complete()
                if not self._drafts or self._drafts[-1].kind != "end":
                    self._close(event.outcome, at_ms)
            case _:
                self._about_it(recorded)

    def _about_it(self, recorded: Recorded) -> None:
        """Take in an event of which an entry is made at once."""
        at_ms, event = recorded.at_ms, recorded.event
        match event:
            case RunStarted(prompt=prompt, is_follow_up=is_follow_up):
                self._new("prompt", _FOLLOW_UP if is_follow_up else "prompt", at_ms, prompt)
            case FollowUpTaken(prompt=prompt):
                self._complete()
                self._follow_up(prompt, at_ms)
            case AnswerAwaited(request=request):
                self._ask(request, at_ms)
            case AnswerGiven():
                self._answered(event, at_ms)
            case GuardTripped(guard=guard, step=step, message=message):
                status: SpanStatus = "failed" if step == "stop" else "warning"
                self._new("guard", f"{guard}: {step}", at_ms, message, status=status)
            case DiagnosticRaised(diagnostic=diagnostic):
                self._new("note", diagnostic.severity, at_ms, str(diagnostic), status="warning")
            case ModelSelected(model=model, why=why):
                self._new("note", "model", at_ms, f"{model} ({why})")
            case OutcomeChecked():
                self._checked(event, at_ms)
            case WorkspaceKept():
                changes = f"{event.ref}: {changes_text(event)}"
                changes += "" if event.landed == "no" else f", {event.landed}"
                self._new("note", "workspace", at_ms, changes)
            case _:  # the other events are in no transcript, and a new one is not either unless it is added above
                pass

    def _checked(self, event: OutcomeChecked, at_ms: int) -> None:
        status: SpanStatus = "done" if event.verified == "passed" else "failed"
        evidence = "\n".join(map(check_text, event.checks))
        self._new("note", f"checks {event.verified.replace('_', ' ')}", at_ms, evidence, status=status)

    def _new(self, kind: EntryKind, title: str, at_ms: int, text: str, *, status: EntryStatus = "done") -> _Draft:
        place = len(self._drafts)
        draft = _Draft(id=place, seq=self._seq, at_ms=at_ms, kind=kind, title=one_line(title), status=status)
        self._drafts.append(draft)
        self._extend(draft, text)
        return draft

    def _extend(self, draft: _Draft, text: str) -> None:
        draft.seq = self._seq
        if draft.chars <= MOST_CHARS:
            draft.pieces.append(text[: MOST_CHARS - draft.chars])
        draft.chars += len(text)

    def _stream(self, kind: EntryKind, title: str, text: str, at_ms: int) -> None:
        if self._streamed is None or self._streamed.kind != kind:
            self._complete()
            self._streamed = self._new(kind, title, at_ms, "", status="running")
        self._extend(self._streamed, text)

    def _complete(self) -> None:
        """End the text that was being streamed."""
        draft, self._streamed = self._streamed, None
        if draft is not None:
            draft.status, draft.seq = "done", self._seq
            if draft.kind == "answer":
                self._said = draft

    def _answer(self, event: RunEnded, at_ms: int) -> None:
        """Call the text that a run has ended with its answer; it was said before, or is new."""
        said, self._said = self._said, None
        output = event.output.strip()
        if output and (said is None or output != "".join(said.pieces).strip()):
            self._new("answer", "answer", at_ms, event.output.strip("\n"))
        elif said is not None and (output or isinstance(event.outcome, Succeeded)):
            said.title, said.seq = "answer", self._seq

    def _tool(self, event: ToolStarted | ToolUpdated | ToolEnded, at_ms: int) -> None:
        draft = None if isinstance(event, ToolStarted) else self._calls.get(event.call_id)
        if draft is None:
            args = event.args if isinstance(event, ToolStarted) else ""
            draft = self._new("tool", call_words(event.tool, args, self._cwd), at_ms, "", status="running")
            changes = changed_lines(event.tool, args) if args else ()
            draft.diff = [printable(line) for line in changes[:MOST_DIFF]] or None
            self._calls[event.call_id] = draft
        if not isinstance(event, ToolStarted):
            draft.pieces, draft.chars = [], 0
            self._extend(draft, event.text)
        if isinstance(event, ToolEnded):
            del self._calls[event.call_id]
            ends: dict[str, SpanStatus] = {"success": "done", "error": "failed"}
            draft.status = ends.get(event.status, "cancelled")
            draft.took_ms = at_ms - draft.at_ms - draft.waited_ms

    def _follow_up(self, prompt: str, at_ms: int) -> None:
        """Begin what was sent to an open run; its title says when that is heard."""
        draft = self._new("prompt", _FOLLOW_UP, at_ms, prompt)
        if self._hearing.waiting and self._calls:
            waits = self._hearing.waiting[-1]
            draft.title = f"{_FOLLOW_UP}, {waits.words}"
            self._sent.setdefault(waits.call_id, []).append(draft)

    def _ask(self, request: Request, at_ms: int) -> None:
        """Begin a request; the call that it is about waits until it is answered."""
        call = self._calls.get(request.call_id)
        if call is not None:
            call.status, call.seq = "asking", self._seq
        title = f"asks: {request_words(request, self._cwd)}"
        self._asked[request.id] = self._new("request", title, at_ms, "", status="asking"), call

    def _answered(self, event: AnswerGiven, at_ms: int) -> None:
        """End a request; the time until then is none in which the call that it is about has worked."""
        draft, call = self._asked.pop(event.request_id, (None, None))
        if draft is None:
            return
        self._extend(draft, answered_words(event.answer, event.by))
        draft.status = status_of_answer(event)
        if call is not None:
            call.waited_ms += at_ms - draft.at_ms
            if call.status == "asking":
                call.status, call.seq = "running", self._seq

    def _close(self, outcome: Outcome, at_ms: int) -> None:
        status = status_of(outcome)
        for draft in (*self._calls.values(), *(asked for asked, _ in self._asked.values())):
            draft.status, draft.seq = "cancelled", self._seq
        for draft in [one for sent in self._sent.values() for one in sent]:
            draft.title, draft.seq = f"{_FOLLOW_UP}, not heard", self._seq
        self._sent.clear()
        self._calls.clear()
        self._asked.clear()
        match outcome:
            case Failed(error=error):
                self._new("end", "failed", at_ms, str(shown_error(error)), status=status)
            case Cancelled(reason=reason):
                self._new("end", "cancelled", at_ms, reason, status=status)
            case _:
                self._new("end", "succeeded", at_ms, "", status=status)


def _drawn(draft: _Draft) -> Entry:
    """Return an entry as it is now; its text is drawn once for each change."""
    if draft.drawn is not None and draft.drawn["seq"] == draft.seq:
        return draft.drawn
    draft.pieces = ["".join(draft.pieces)]
    text, more = draft.pieces[0], draft.chars - MOST_CHARS
    if more > 0:
        text += f"\n\n… {more:,} more characters: ohm task <id> --transcript"
    draft.drawn = Entry(
        id=draft.id,
        seq=draft.seq,
        at_ms=draft.at_ms,
        kind=draft.kind,
        title=draft.title,
        html=markup(text) if draft.kind in _MARKDOWN else None,
        text=None if draft.kind in _MARKDOWN else printable(text),
        diff=draft.diff,
        status=draft.status,
        took_ms=draft.took_ms,
    )
    return draft.drawn
