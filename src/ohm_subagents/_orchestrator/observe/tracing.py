"""An OpenTelemetry span around each task, for hosts that trace. Nothing is imported for those that do not."""

from __future__ import annotations

import sys
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager

    from opentelemetry import trace

    from ohm_subagents.contract.task import Task

SPAN = "ohm.task"


def span(newest: Callable[[], Task]) -> AbstractContextManager[None]:
    """Return the span of a task, under which the spans of its engine (`invoke_agent`, `chat`, `execute_tool`) are.

    `newest` gives the state of the task. The attributes are ids, names, counts and the outcome: never a prompt, an
    answer or a payload. A host that has set a tracer provider has imported OpenTelemetry.
    """
    return _span(newest) if "opentelemetry.sdk" in sys.modules else nullcontext()


@contextmanager
def _span(newest: Callable[[], Task]) -> Generator[None]:
    from opentelemetry import trace  # noqa: PLC0415  see above

    task = newest()
    known = {
        "ohm.task.id": task.id,
        "ohm.session.id": task.session_id,
        "ohm.profile": task.assignment.profile,
        "ohm.backend": task.assignment.backend,
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": task.assignment.profile,
        "gen_ai.conversation.id": task.session_id,
    }
    if task.assignment.parent is not None:
        known["ohm.task.parent"] = task.assignment.parent
    tracer = trace.get_tracer("ohm_subagents")
    with tracer.start_as_current_span(SPAN, attributes=known) as current:
        try:
            yield
        finally:
            _describe(newest(), current)


def _describe(task: Task, current: trace.Span) -> None:
    from opentelemetry.trace import StatusCode  # noqa: PLC0415  see above

    usage = task.activity.usage
    current.set_attributes(
        {
            "ohm.status": task.status,
            "ohm.provider": task.route.provider,
            "gen_ai.request.model": task.route.model,
            "ohm.usage.requests": usage.requests,
            "ohm.usage.tool_calls": usage.tool_calls,
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
        }
    )
    if usage.cost_usd is not None:
        current.set_attribute("ohm.usage.cost_usd", float(usage.cost_usd))
    if task.stopped_by is not None:
        current.set_attribute("ohm.stopped_by", task.stopped_by)
    if task.error is not None:
        current.set_attribute("error.type", str(task.error.code))
        current.set_status(StatusCode.ERROR, str(task.error.code))
