"""The event stream of `pi`, in JSON mode and in RPC mode, translated to ours for all supported releases."""

from __future__ import annotations

import os.path
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from ohm_subagents.backends.pi import failures, notices
from ohm_subagents.backends.pi.finalizer import HandedIn
from ohm_subagents.backends.pi.records import as_record, as_text, compact, record_in, text_of, usage_in
from ohm_subagents.plugin import (
    FINALIZE,
    AgentEnded,
    Err,
    FileChanged,
    Ok,
    RouteResolved,
    RunOutput,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    ToolUpdated,
    UsageAdded,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from ohm_subagents.backends.pi.records import Record
    from ohm_subagents.plugin import OhmError, Result, RunEvent, RunRequest
    from ohm_subagents.shell import Ended

RUNTIME: Final = "pi-cli"
ROUTE: Final = "interactive-shell"

_WRITING: Final = frozenset({"write", "edit"})
_PARAGRAPH: Final = "\n\n"
_OVERLAP: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """The last message of the assistant, and why it stopped."""

    stop: str
    text: str
    error: str
    model: str

    @property
    def has_answered(self) -> bool:
        return self.stop in {"stop", "length"} and bool(self.text.strip())


@dataclass(slots=True, kw_only=True)
class _Call:
    """A tool call that goes on: the file it writes, and the output that was reported so far."""

    path: str = ""
    told: str = ""


class PiReader:
    """Reads one prompt's stream of `pi`.

    `settles`: this release says `agent_settled` when it is done; an older one is done at an `agent_end` after which it
    asks no more. The answer is the text of the last message of the assistant, so nothing of a turn that failed and was
    repeated is part of it. `turns` counts the turns that are over: after each, the session file has grown. `secrets`
    are cut out of every error and diagnostic.
    """

    def __init__(self, request: RunRequest, *, settles: bool, secrets: Sequence[str]) -> None:
        self._request = request
        self._secrets = secrets
        self._settles = settles
        self._has_to_finalize = request.profile.finalize is not None
        self.handed_in = HandedIn(request.profile)
        self._calls: dict[str, _Call] = {}
        self._last: _Turn | None = None
        self._finalized: str | None = None
        self._model: tuple[str, str] = ("", "")
        self._judged: set[tuple[str, str]] = set()
        self._is_apart = False
        self._has_started = False
        self._has_ended = False
        self._has_said_so = False
        self.turns = 0
        self._tellers: Mapping[str, Callable[[Record], Iterable[RunEvent]]] = {
            "agent_start": self._started,
            "message_start": self._begun,
            "message_update": self._streamed,
            "message_end": self._said,
            "tool_execution_start": self._called,
            "tool_execution_update": self._updated,
            "tool_execution_end": self._returned,
            "turn_end": self._turned,
            "agent_end": self._ended,
            "agent_settled": self._settled,
            "auto_retry_start": self._retried,
            "compaction_end": self._compacted,
        }

    def read(self, line: bytes) -> Iterable[RunEvent]:
        """See `Reader`. Records of type `response` are not the business of a reader and pass by."""
        record = record_in(line)
        tell = self._tellers.get(as_text(record.get("type")))  # every release brings records that we do not know
        return () if tell is None else tuple(tell(record))

    @property
    def is_over(self) -> bool:
        """The run has settled. Never before the end of the stream for a release that does not say so."""
        return self._settles and self._has_ended

    @property
    def is_streaming(self) -> bool:
        """The agent is at work, or will be again by itself: it takes what is said to it into this run."""
        return self._has_started and not self._has_ended

    def last(self, ended: Ended) -> Iterable[RunEvent]:
        """See `Reader`."""
        return notices.warnings(ended.stderr, self._secrets)

    def outcome(self, ended: Ended) -> Result[RunOutput, OhmError]:
        """See `Reader`. Told by the last message of the assistant; by the exit code only when there is none."""
        turn, request = self._last, self._request
        if turn is None:
            if ended.code == 0 and not self._has_started:
                return Err(failures.nothing_asked())
            return Err(failures.refused(ended.stderr, request) or self._broken_off(ended))
        if turn.stop == "aborted":
            return Err(failures.interrupted())
        if turn.stop == "error":
            return Err(failures.model_failure(turn.error, request, turn.model, self._secrets))
        if not self._has_ended:
            return Err(self._broken_off(ended))
        if turn.has_answered:
            return Ok(RunOutput(text=turn.text))
        if self._finalized is not None:
            return Ok(RunOutput(text=self._finalized or turn.text))
        match turn.stop:
            case "stop":
                return Err(failures.empty_answer(request, turn.model))
            case "length":
                return Err(failures.cut_off(request, turn.model))
            case _:
                return Err(self._broken_off(ended))

    def _broken_off(self, ended: Ended) -> OhmError:
        return failures.broken_off(self._request, code=ended.code, stderr=ended.stderr, secrets=self._secrets)

    def _started(self, _record: Record) -> Iterable[RunEvent]:
        self._has_started, self._has_ended = True, False
        return ()

    def _turned(self, _record: Record) -> Iterable[RunEvent]:
        self.turns += 1
        return ()

    def _ended(self, record: Record) -> Iterator[RunEvent]:
        """The end of one pass of the agent; a retry may follow, and where the release says so, it says the true end."""
        self._has_ended = not self._settles and not record.get("willRetry")
        return self._done()

    def _settled(self, _record: Record) -> Iterator[RunEvent]:
        self._has_ended = self._has_started  # else it is the end of an earlier run of the same process
        return self._done()

    def _begun(self, record: Record) -> Iterator[RunEvent]:
        return self._routed(as_record(record.get("message")))

    def _routed(self, message: Record) -> Iterator[RunEvent]:
        if message.get("role") != "assistant":
            return
        chosen = (as_text(message.get("provider")), as_text(message.get("model")))
        if all(chosen) and chosen != self._model:
            self._model = chosen
            provider, model = chosen
            yield RouteResolved(provider=provider, model=model, runtime=RUNTIME, route=ROUTE, served_model=model)
            yield from notices.substituted(self._request.model, *chosen)

    def _streamed(self, record: Record) -> Iterator[RunEvent]:
        """Yield the next piece alone: old releases repeat the whole message beside it, and ahead of it."""
        event = as_record(record.get("assistantMessageEvent"))
        piece = as_text(event.get("delta"))
        if not piece:
            return
        match event.get("type"):
            case "text_delta":
                yield TextDelta(text=f"{_PARAGRAPH}{piece}" if self._is_apart else piece)
                self._is_apart = False
            case "thinking_delta":
                yield ThinkingDelta(text=piece)
            case _:
                pass

    def _said(self, record: Record) -> Iterator[RunEvent]:
        message = as_record(record.get("message"))
        if message.get("role") != "assistant":
            return
        yield from self._routed(message)
        provider, model = self._model
        turn = self._last = _Turn(
            stop=as_text(message.get("stopReason")),
            text=text_of(message.get("content")),
            error=as_text(message.get("errorMessage")),
            model=f"{provider}/{model}" if provider else "",
        )
        self._finalized = None
        self._is_apart = bool(turn.text)
        usage = usage_in(message)
        # A request that its provider refused was not made, as in the other backend.
        if turn.stop not in {"error", "aborted"} or turn.text or usage.input_tokens or usage.output_tokens:
            yield UsageAdded(usage=usage)
            if self._model not in self._judged:
                self._judged.add(self._model)
                yield from notices.unpriced(self._request.gate, usage, *self._model)
        if turn.stop == "length" and turn.has_answered:
            yield notices.cut_off()

    def _called(self, record: Record) -> Iterator[RunEvent]:
        tool, args = as_text(record.get("toolName")), record.get("args")
        path = as_text(as_record(args).get("path")) if tool in _WRITING else ""
        call_id = as_text(record.get("toolCallId"))
        self._calls[call_id] = _Call(path=path)
        self._is_apart = False
        yield ToolStarted(call_id=call_id, tool=tool, args=compact(args) if args else "")

    def _updated(self, record: Record) -> Iterator[RunEvent]:
        """Yield what is new: a tool repeats with each update what it said before."""
        call_id = as_text(record.get("toolCallId"))
        call = self._calls.get(call_id)
        text = text_of(as_record(record.get("partialResult")).get("content"))
        if call is None or not text:
            return
        news, call.told = _news(call.told, text), text
        if news.strip():
            yield ToolUpdated(call_id=call_id, tool=as_text(record.get("toolName")), text=news)

    def _returned(self, record: Record) -> Iterator[RunEvent]:
        call_id, is_error = as_text(record.get("toolCallId")), bool(record.get("isError"))
        result = as_record(record.get("result"))
        text = text_of(result.get("content"))
        call = self._calls.pop(call_id, _Call())
        if self._has_to_finalize and as_text(record.get("toolName")) == FINALIZE and not is_error:
            match self.handed_in.take(call_id, cast("JsonValue", result.get("details"))):
                case Ok(final):
                    yield final
                case Err(wrong):
                    is_error, text = True, wrong
        if call.path and not is_error:
            yield FileChanged(path=_placed(call.path, self._request.cwd))
        yield ToolEnded(
            call_id=call_id,
            tool=as_text(record.get("toolName")),
            status="error" if is_error else "success",
            text=text,
        )
        if result.get("terminate") is True and not is_error:
            self._finalized = text

    def _done(self) -> Iterator[RunEvent]:
        is_answer = self._last is not None and self._last.stop not in {"error", "aborted"}
        if self._has_ended and is_answer and not self._has_said_so:
            self._has_said_so = True
            yield AgentEnded()

    def _retried(self, record: Record) -> Iterable[RunEvent]:
        self._has_ended = False
        return (notices.retried(record, self._secrets),)

    def _compacted(self, record: Record) -> Iterable[RunEvent]:
        return notices.compacted(record, self._secrets)


def _news(before: str, after: str) -> str:
    """Return what `after` has beyond `before`, also if the head of a long output is no longer repeated."""
    if after.startswith(before):
        return after[len(before) :]
    tail = before[-_OVERLAP:]
    _, found, news = after.rpartition(tail)
    return news if found else after


def _placed(path: str, cwd: Path) -> str:
    """Return a path as `pi` takes it, relative to the working directory where it lies in it. Touches no file."""
    base = os.path.normpath(cwd)
    place = os.path.normpath(os.path.join(base, path.removeprefix("@")))  # noqa: PTH118  pathlib does not fold `..`
    inside = os.path.relpath(place, base)
    return place if inside == ".." or inside.startswith("../") else inside
