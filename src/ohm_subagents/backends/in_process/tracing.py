"""OpenTelemetry: the GenAI spans of a run, for a host that wants them. Imports pydantic_ai, so import it late."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from opentelemetry import baggage, context, trace
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.models.instrumented import InstrumentationSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_ai import RunContext
    from pydantic_ai.capabilities.abstract import WrapRunHandler
    from pydantic_ai.run import AgentRunResult

_FIRST_CHUNK = "gen_ai.client.operation.time_to_first_chunk"


class RunSpans(Instrumentation):
    """The spans of the model requests and tool calls of a run. The span of its task is that of the agent."""

    async def wrap_run(self, ctx: RunContext[object], *, handler: WrapRunHandler) -> AgentRunResult[object]:
        """Open no span; name the agent and the conversation on those below, which read them in the baggage."""
        named = baggage.set_baggage("gen_ai.agent.name", ctx.agent.name if ctx.agent else None)
        token = context.attach(baggage.set_baggage("gen_ai.conversation.id", ctx.conversation_id, named))
        try:
            return await handler()
        finally:
            context.detach(token)


def record_first_chunk(seconds: float | None) -> None:
    """Record the time to the first chunk on the span of the request; the agent, which does not stream, lacks it."""
    if seconds is not None and "opentelemetry.sdk" in sys.modules:
        trace.get_current_span().set_attribute(_FIRST_CHUNK, seconds)


def traced() -> Sequence[RunSpans]:
    """Return spans without prompts, answers and arguments; none before the host has set a tracer provider."""
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return ()
    settings = InstrumentationSettings(
        tracer_provider=provider, include_content=False, include_model_request_parameters=False
    )
    return (RunSpans(settings=settings),)
