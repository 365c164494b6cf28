"""OpenTelemetry: the GenAI spans of a run, for a host that wants them. Imports pydantic_ai, so import it late."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opentelemetry import trace
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.models.instrumented import InstrumentationSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ohm_subagents.plugin import RunRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """The spans of a run; empty without a listener."""

    capabilities: Sequence[Instrumentation] = ()
    metadata: dict[str, object] | None = None


_NOT_TRACED = Traced()
_FIRST_WORD = "gen_ai.client.operation.time_to_first_chunk"


def tell_first_word(seconds: float | None) -> None:
    """Put how long the first word took on the span of the request: the agent, which is not streaming, cannot know."""
    if seconds is not None and "opentelemetry.sdk" in sys.modules:
        trace.get_current_span().set_attribute(_FIRST_WORD, seconds)


def traced(request: RunRequest) -> Traced:
    """Spans without prompts, answers and arguments, once the host has set a tracer provider; until then nothing."""
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return _NOT_TRACED
    settings = InstrumentationSettings(
        tracer_provider=provider, include_content=False, include_model_request_parameters=False
    )
    return Traced(
        capabilities=[Instrumentation(settings=settings)],
        metadata={"task_id": request.task_id, "session_id": request.session_id},
    )
