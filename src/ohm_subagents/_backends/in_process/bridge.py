"""pydantic-ai's events, told as ours. Imports pydantic_ai, so import it late."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Never

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
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

from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.events import (
    DiagnosticRaised,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolStarted,
    UsageAdded,
)
from ohm_subagents.contract.usage import Usage

if TYPE_CHECKING:
    from decimal import Decimal

    from pydantic_ai.messages import AgentStreamEvent
    from pydantic_ai.tools import RunContext

    from ohm_subagents._plugins.interfaces import Sink


_CUT_OFF: Final = {
    "length": "at the model's output token limit",
    "content_filter": "by the provider's content filter",
}


@dataclass
class Bridge(AbstractCapability[object]):
    """Reports a run to `sink`, and keeps an unexpected exception of a tool from ending it."""

    sink: Sink
    response: ModelResponse | None = field(default=None, init=False)
    """What the model answered last."""

    async def on_event(self, ctx: RunContext[object], *, event: AgentStreamEvent) -> None:
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

    async def after_model_request(
        self,
        ctx: RunContext[object],
        *,
        response: ModelResponse,
        **_: object,
    ) -> ModelResponse:
        self.response = response
        used = response.usage
        self.sink.emit(
            UsageAdded(
                usage=Usage(
                    requests=1,
                    input_tokens=used.input_tokens,
                    output_tokens=used.output_tokens,
                    cached_tokens=used.cache_read_tokens,
                    cost_usd=_cost(response),
                )
            )
        )
        if (why := _CUT_OFF.get(response.finish_reason or "")) is not None and not said_nothing(response):
            cut = Diagnostic(subject="model", message=f"The answer was cut off {why}.")
            self.sink.emit(DiagnosticRaised(diagnostic=cut))
        return response

    async def on_tool_execute_error(
        self,
        ctx: RunContext[object],
        *,
        error: Exception,
        **_: object,
    ) -> Never:
        """Tell the model, which can go on; upstream would end the run."""
        message = f"{type(error).__name__}: {error}"
        raise ToolFailed(message) from error


def said_nothing(response: ModelResponse | None) -> bool:
    """Whether the model took its turn without a word and without a tool call."""
    return response is not None and not any(
        isinstance(part, ToolCallPart) or (isinstance(part, TextPart) and part.content.strip())
        for part in response.parts
    )


def _cost(response: ModelResponse) -> Decimal | None:
    """What the response cost in USD; None when nobody knows the model's price, or the provider counted nothing."""
    if response.usage.cost is not None:
        return response.usage.cost
    if response.model_name is None:
        return None
    try:
        return response.cost().total_price
    except (LookupError, ValueError):
        return None
