"""Events of a run, made of the reports of an agent."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from acp.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    SessionNotification,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
)
from acp.schema import Usage as AcpUsage
from pydantic import ValidationError

from ohm_acp.agents import SERVER
from ohm_acp.calls import Call, Calls
from ohm_acp.checkpoint import Checkpoint
from ohm_subagents.plugin import (
    Checkpointed,
    Diagnostic,
    DiagnosticRaised,
    Finalized,
    TextDelta,
    ThinkingDelta,
    Usage,
    UsageAdded,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ohm_acp.agents import Agent
    from ohm_subagents.contract import RunEvent
    from ohm_subagents.plugin import JsonObject, RunRequest, Sink


class Report:
    """One run so far. It is a sink itself, for what is reported of the run elsewhere."""

    def __init__(self, backend_id: str, agent: Agent, request: RunRequest, sink: Sink) -> None:
        self._id = backend_id
        self._agent = agent
        self._sink = sink
        self._served: Mapping[str, str] = {}
        self._names_of_served: re.Pattern[str] | None = None
        self._before = Checkpoint()
        self._session = ""
        self._cost = Decimal(0)
        self._spent = Usage()
        self._is_open = False
        self.calls = Calls(request.cwd, agent.tools.values(), self.served)
        self.answer = ""
        """The text since the last tool call."""
        self.has_finalized = False
        """The answer was handed in by a tool."""

    def emit(self, event: RunEvent) -> None:
        """Report an event."""
        self.has_finalized |= isinstance(event, Finalized)
        self._sink.emit(event)

    def warn(self, sentence: str) -> None:
        """Report something that the user should know."""
        self.emit(DiagnosticRaised(diagnostic=Diagnostic(subject=self._id, message=sentence)))

    def serves(self, tools: Mapping[str, str]) -> None:
        """Our own MCP server serves these tools: its names for them, and ours."""
        self._served = tools
        if tools:
            names = "|".join(re.escape(name) for name in tools)
            alone = "" if self._agent.names_servers else rf"|({names})(?: \({SERVER} MCP Server\))?"
            self._names_of_served = re.compile(rf"(?:Tool: |mcp__)?{SERVER}[/_.:]+({names}){alone}")

    def served(self, call: Call) -> str | None:
        """Return the tool of our own MCP server that a call is of, by our name; None for a tool of the agent."""
        if self._names_of_served is None:
            return None
        found = self._names_of_served.fullmatch(call.name or call.title)  # a title may be a command of the model
        return None if found is None else self._served[found[found.lastindex or 1]]

    def begins(self, session: str, before: Checkpoint) -> None:
        """Report what follows: until now, updates were of the past. `before` is what the session was when it ended."""
        self._session, self._before, self._is_open = session, before, True
        self._checkpoint()

    def update(self, params: JsonObject) -> None:
        """Report an update; one that a later version of the protocol has brought tells nothing."""
        if not self._is_open:
            return
        try:
            told = SessionNotification.model_validate(params).update
        except ValidationError:
            return
        match told:
            case AgentMessageChunk(content=TextContentBlock(text=text)):
                self._say(text, told.field_meta)
            case AgentThoughtChunk(content=TextContentBlock(text=text)) if text:
                self._emit_all(self.calls.start_all())
                self.emit(ThinkingDelta(text=text))
            case ToolCallStart():
                self.answer = ""
                self._emit_all(self.calls.begun(told))
            case ToolCallProgress():
                self._emit_all(self.calls.updated(told))
            case UsageUpdate(cost=cost) if cost is not None and cost.currency == "USD":
                self._costs(Decimal(str(cost.amount)))
            case _:
                pass

    def ends(self, answer: JsonObject) -> None:
        """Report the end of the prompt, of which `answer` is the agent's answer to our request."""
        self._emit_all(self.calls.start_all())
        usage = _usage(answer.get("usage"))
        self._spend(
            Usage(
                requests=max(0, 1 - self._spent.requests),
                input_tokens=max(0, usage.input_tokens - self._spent.input_tokens),
                output_tokens=max(0, usage.output_tokens - self._spent.output_tokens),
                cached_tokens=max(0, usage.cached_tokens - self._spent.cached_tokens),
                cache_write_tokens=max(0, usage.cache_write_tokens - self._spent.cache_write_tokens),
            )
        )
        self._checkpoint()

    def _say(self, text: str, meta: Mapping[str, Any] | None) -> None:
        if self._agent.warnings and re.match(self._agent.warnings, text):
            self.warn(text.strip())
        elif text:
            self._emit_all(self.calls.start_all())
            self.answer += text
            self.emit(TextDelta(text=text))
        if (of_request := _usage((meta or {}).get("usage"))) != Usage():
            self._spend(of_request + Usage(requests=1))

    def _costs(self, total: Decimal) -> None:
        """Take the cost of the session; one that is lower than before was counted anew."""
        before = self._cost or Decimal(str(self._before.cost_usd))
        spent = total - before if total >= before else total
        self._cost = total
        if spent:
            self._spend(Usage(cost_usd=spent))

    def _spend(self, usage: Usage) -> None:
        if usage != Usage():
            self._spent += usage
            self.emit(UsageAdded(usage=usage))

    def _checkpoint(self) -> None:
        cost = float(self._cost) or self._before.cost_usd
        self.emit(Checkpointed(state=Checkpoint(session=self._session, cost_usd=cost).model_dump_json()))

    def _emit_all(self, events: Iterable[RunEvent]) -> None:
        for event in events:
            self.emit(event)


def _usage(told: object) -> Usage:
    """Return the tokens of a count of ACP: agents count what is cached, or thought, in the others or beside them."""
    try:
        usage = AcpUsage.model_validate(told)
    except ValidationError:
        return Usage()
    cached, thought = usage.cached_read_tokens or 0, usage.thought_tokens or 0
    written = usage.cached_write_tokens or 0
    beside = cached + written
    rest = usage.total_tokens - usage.input_tokens - usage.output_tokens
    cached_apart = beside if rest >= beside else 0
    thought_apart = thought if rest - cached_apart >= thought else 0
    return Usage(
        input_tokens=usage.input_tokens + cached_apart,
        output_tokens=usage.output_tokens + thought_apart,
        cached_tokens=cached,
        cache_write_tokens=written,
    )
