"""The state of a run, and the methods by which the table of a dialect reports more of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from ohm_backend_cli.children import ChildTools
from ohm_backend_cli.shapes import compact, object_of
from ohm_subagents.plugin import (
    AgentEnded,
    Checkpointed,
    Diagnostic,
    DiagnosticRaised,
    FileChanged,
    RouteResolved,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    Usage,
    UsageAdded,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ohm_backend_cli.checkpoint import Checkpoint
    from ohm_subagents.contract import RunEvent
    from ohm_subagents.plugin import JsonObject, RunRequest


@dataclass(frozen=True, slots=True)
class _Call:
    """A tool call without an answer."""

    tool: str
    args: str
    path: str = ""
    """The file that it writes."""
    is_child: bool = False
    """A child tool: our own server reports its call."""


@dataclass(slots=True)
class _Reported:
    """The part of a run that events have told, so that none tells it twice."""

    session: str = ""
    checkpoint: str = ""
    route: RouteResolved | None = None
    calls: dict[str, _Call] = field(default_factory=dict[str, _Call])
    """The calls without an answer, by their ids."""
    is_open: bool = False
    is_closed: bool = False


@dataclass(slots=True)
class Pieces:
    """Text and thinking that have come in pieces, so whole messages do not tell them again.

    Fields:
        have_come: there was such a piece.
        asked: the count of tokens that stood at the start of the message.
    """

    have_come: bool = False
    asked: JsonObject = field(default_factory=dict[str, JsonValue])


@dataclass(slots=True, kw_only=True)
class RunState:
    """The run so far.

    `answer` is what was said since the last tool call. `is_done`: the agent has answered; `is_over`: nothing more has
    to be read. `hint` is what it said of trouble, in case that it ends without saying more.
    """

    id: str
    request: RunRequest
    provider: str
    before: Checkpoint
    writes: Mapping[str, str] = field(default_factory=dict[str, str])
    unsupported: tuple[str, ...] = ()
    children: ChildTools = field(default_factory=ChildTools)
    answer: str = ""
    is_done: bool = False
    is_over: bool = False
    pieces: Pieces = field(default_factory=Pieces)
    failed: tuple[str, int | None] | None = None
    """The text of the failure, and the HTTP status that the provider answered with."""
    hint: str = ""
    used: Usage = field(default_factory=Usage)
    _reported: _Reported = field(default_factory=_Reported)

    def opening(self) -> Iterator[RunEvent]:
        """Once, above what the first record tells: who works, if that does not tell it, and what is not honoured."""
        if self._reported.is_open:
            return
        self._reported.is_open = True
        if self._reported.route is None:
            yield self._route(self.request.model.model if self.request.model else "")
        for sentence in self.unsupported:
            yield from self.warns(sentence)

    def closing(self) -> list[RunEvent]:
        """Once, if the agent is done."""
        if not self.is_done or self._reported.is_closed:
            return []
        self._reported.is_closed = True
        return [*self._checkpoint(), AgentEnded()]

    def _route(self, model: str) -> RouteResolved:
        return RouteResolved(provider=self.provider, model=model, runtime=f"{self.id}-cli", route=self.id)

    def runs(self, model: str, version: object = "") -> Iterator[RunEvent]:
        """Report the model that the agent says it runs, and its own version."""
        route = replace(self._route(model), served_model=model)
        if isinstance(version, str) and version:
            route = replace(route, program=self.id, program_version=version)
        if route != self._reported.route:
            self._reported.route = route
            yield route

    def answers_as(self, model: object) -> Iterator[RunEvent]:
        """Report the model that a message is from, where it is another one than the agent says it runs."""
        route = self._reported.route
        if route is not None and isinstance(model, str) and model not in {"", route.served_model}:
            self._reported.route = replace(route, served_model=model)
            yield self._reported.route

    def begins(self, session: str) -> Iterator[RunEvent]:
        """The session has this id."""
        if session and session != self._reported.session:
            self._reported.session = session
            yield from self._checkpoint()

    def says(self, text: str) -> Iterator[RunEvent]:
        """Report a piece of the answer."""
        if text:
            self.answer += text
            yield TextDelta(text=text)

    def thinks(self, text: str) -> Iterator[RunEvent]:
        """Report a piece of reasoning."""
        if text:
            yield ThinkingDelta(text=text)

    def warns(self, sentence: str) -> Iterator[RunEvent]:
        """Something that the user should know."""
        yield DiagnosticRaised(diagnostic=Diagnostic(subject=self.id, message=sentence))

    def calls(self, call_id: str, tool: str, args: object) -> Iterator[RunEvent]:
        """Report that a tool call begins; once for each id that is not answered yet."""
        if call_id in self._reported.calls:
            return
        path, child = object_of(args).get(self.writes.get(tool, "")), self.children.name_of(tool)
        call = _Call(
            tool=child or tool,
            args="" if args is None else compact(args),
            path=path if isinstance(path, str) else "",
            is_child=child is not None and self.children.endpoint is not None,
        )
        self._reported.calls[call_id] = call
        self.answer = ""
        if not call.is_child:
            yield ToolStarted(call_id=call_id, tool=call.tool, args=call.args)

    def returns(self, call_id: str, text: str, *, ok: bool) -> Iterator[RunEvent]:
        """Report the answer of a tool call that has begun."""
        call = self._reported.calls.pop(call_id, None)
        if call is None or (call.is_child and self.children.has_reported()):
            return
        if call.is_child:
            yield ToolStarted(call_id=call_id, tool=call.tool, args=call.args)
        yield ToolEnded(call_id=call_id, tool=call.tool, status="success" if ok else "error", text=text)
        if ok:
            yield from self.writes_to(call.path)

    def writes_to(self, path: str) -> Iterator[RunEvent]:
        """A file was written."""
        file, cwd = Path(path), self.request.cwd
        if path:
            yield FileChanged(path=str(file.relative_to(cwd) if file.is_relative_to(cwd) else file))

    def spends(self, usage: Usage) -> Iterator[RunEvent]:
        """One more model request."""
        if usage != Usage():
            self.used += usage
            yield UsageAdded(usage=usage)

    def has_spent(self, total: Usage, *, of_session: bool = False) -> Iterator[RunEvent]:
        """Take the final count of the run, or of its whole session, and report what was not reported yet."""
        before = self.before if of_session else type(self.before)()
        yield from self.spends(
            Usage(
                requests=max(0, total.requests - self.used.requests),
                input_tokens=max(0, total.input_tokens - before.input_tokens - self.used.input_tokens),
                output_tokens=max(0, total.output_tokens - before.output_tokens - self.used.output_tokens),
                cached_tokens=max(0, total.cached_tokens - before.cached_tokens - self.used.cached_tokens),
                cost_usd=total.cost_usd,
            )
        )

    def fails(self, text: str, status: int | None = None) -> Iterator[RunEvent]:
        """The run has failed, with this text and the HTTP status that the provider answered with."""
        self.failed, self.is_over = (text, status), True
        yield from self._checkpoint()

    def ends(self, answer: str | None = None) -> Iterator[RunEvent]:
        """The agent has answered, and there is no more to read."""
        self.is_done = self.is_over = True
        if answer is not None:
            self.answer = answer
        yield from self.closing()

    def _checkpoint(self) -> Iterator[RunEvent]:
        if self._reported.session:
            now = self.before.model_copy(
                update={
                    "session": self._reported.session,
                    "input_tokens": self.before.input_tokens + self.used.input_tokens,
                    "output_tokens": self.before.output_tokens + self.used.output_tokens,
                    "cached_tokens": self.before.cached_tokens + self.used.cached_tokens,
                }
            )
            if (state := now.model_dump_json()) != self._reported.checkpoint:
                self._reported.checkpoint = state
                yield Checkpointed(state=state)
