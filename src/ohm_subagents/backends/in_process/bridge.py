"""The translation of pydantic-ai's events to ours. Imports pydantic_ai, so import it late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pydantic_ai.messages import (
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)

from ohm_subagents.backends.in_process.bounded_stream import MAX_ANSWER_CHARS, RefusedStreamError
from ohm_subagents.plugin import CUT_OFF, Diagnostic, DiagnosticRaised, TextDelta, ThinkingDelta, ToolEnded, ToolStarted

if TYPE_CHECKING:
    from pydantic_ai.messages import AgentStreamEvent

    from ohm_subagents.plugin import Sink


_CUT_OFF: Final = {
    "length": "at the model's output token limit",
    "content_filter": "by the provider's content filter",
}


class Bridge:
    """Reports a run to `sink`.

    `response` is the last answer that came whole, `unfinished` what came of one that broke off.
    """

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.response: ModelResponse | None = None
        self.unfinished: ModelResponse | None = None

    def tell(self, event: AgentStreamEvent, *, at_most: int | None = None) -> None:
        """Pass on what the model, or one of its tools, has just brought; of a text `at_most` so many characters."""
        match event:
            # The start of a part carries its first piece.
            case PartStartEvent(part=TextPart(content=text)) if text:
                self.sink.emit(TextDelta(text=text[:at_most]))
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                self.sink.emit(TextDelta(text=text[:at_most]))
            case PartStartEvent(part=ThinkingPart(content=text)) if text:
                self.sink.emit(ThinkingDelta(text=text[:at_most]))
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text)) if text:
                self.sink.emit(ThinkingDelta(text=text[:at_most]))
            case FunctionToolCallEvent(part=call):
                args = call.args_as_json_str()
                self.sink.emit(ToolStarted(call_id=call.tool_call_id, tool=call.tool_name, args=args))
            case FunctionToolResultEvent(part=part):
                self.sink.emit(
                    ToolEnded(
                        call_id=part.tool_call_id,
                        tool=part.tool_name,
                        status="success" if part.outcome == "success" else "error",
                        text=part.model_response_str(wrap_if_error=False),
                    )
                )
            case _:  # any minor release of pydantic-ai may bring new kinds
                pass

    def answered(self, response: ModelResponse) -> None:
        """The model has taken its turn."""
        self.response = response
        if (why := _CUT_OFF.get(response.finish_reason or "")) is not None and not said_nothing(response):
            cut = Diagnostic(subject="model", message=f"{CUT_OFF} {why}.")
            self.sink.emit(DiagnosticRaised(diagnostic=cut))


class ComingAnswer:
    """An answer as it comes, passed to a bridge up to the limit of its size."""

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge
        self._left = MAX_ANSWER_CHARS

    @property
    def is_too_long(self) -> bool:
        return self._left < 0

    def take(self, event: AgentStreamEvent) -> None:
        """Tell it. Raises `RefusedStreamError` once the answer is too long, after what there was room for."""
        length = _length_of(event)
        self._bridge.tell(event, at_most=self._left if length > self._left else None)
        self._left -= length
        if self._left < 0:
            raise RefusedStreamError.too_many(MAX_ANSWER_CHARS, "characters in one turn")


def _length_of(event: AgentStreamEvent) -> int:
    """Count the characters of an answer in an event of a stream: text, thinking, or arguments of a call."""
    match event:
        case (
            PartStartEvent(part=TextPart(content=text) | ThinkingPart(content=text))
            | PartDeltaEvent(delta=TextPartDelta(content_delta=text) | ThinkingPartDelta(content_delta=text))
            | PartStartEvent(part=ToolCallPart(args=text))
            | PartDeltaEvent(delta=ToolCallPartDelta(args_delta=text))
        ):
            return len(text) if isinstance(text, str) else len(str(text)) if text else 0
        case _:
            return 0


def said_nothing(response: ModelResponse | None) -> bool:
    """Return True if the model took its turn without a word and without a tool call."""
    return response is not None and not any(
        isinstance(part, ToolCallPart) or (isinstance(part, TextPart) and part.content.strip())
        for part in response.parts
    )
