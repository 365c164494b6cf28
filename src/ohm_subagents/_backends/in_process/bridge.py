"""pydantic-ai's events, told as ours. Imports pydantic_ai, so import it late."""

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
)

from ohm_subagents.contract.diagnostics import CUT_OFF, Diagnostic
from ohm_subagents.contract.events import DiagnosticRaised, TextDelta, ThinkingDelta, ToolEnded, ToolStarted

if TYPE_CHECKING:
    from pydantic_ai.messages import AgentStreamEvent

    from ohm_subagents._plugins.interfaces import Sink


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

    def tell(self, event: AgentStreamEvent) -> None:
        """Pass on what the model, or one of its tools, has just brought."""
        match event:
            # The start of a part carries its first piece.
            case PartStartEvent(part=TextPart(content=text)) if text:
                self.sink.emit(TextDelta(text=text))
            case PartDeltaEvent(delta=TextPartDelta(content_delta=text)) if text:
                self.sink.emit(TextDelta(text=text))
            case PartStartEvent(part=ThinkingPart(content=text)) if text:
                self.sink.emit(ThinkingDelta(text=text))
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=text)) if text:
                self.sink.emit(ThinkingDelta(text=text))
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


def said_nothing(response: ModelResponse | None) -> bool:
    """Whether the model took its turn without a word and without a tool call."""
    return response is not None and not any(
        isinstance(part, ToolCallPart) or (isinstance(part, TextPart) and part.content.strip())
        for part in response.parts
    )
