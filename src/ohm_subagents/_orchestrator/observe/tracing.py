"""OpenTelemetry spans, made from the events of a task. Imports opentelemetry, so import it late."""

from __future__ import annotations

from time import time_ns
from typing import TYPE_CHECKING

from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from ohm_subagents._orchestrator.observe.log import LINES
from ohm_subagents._orchestrator.observe.observers import Follower
from ohm_subagents.contract.acceptance import OutcomeChecked
from ohm_subagents.contract.errors import ErrorCode
from ohm_subagents.contract.events import (
    FollowUpTaken,
    GuardTripped,
    RequestHeld,
    RequestReleased,
    RunEnded,
    RunStarted,
    TaskQueued,
    TaskSettled,
    ToolEnded,
    ToolStarted,
    UsageAdded,
)
from ohm_subagents.contract.model_route import ModelSelected, RouteResolved
from ohm_subagents.contract.requests import AnswerAwaited, AnswerGiven
from ohm_subagents.contract.task import UNAVAILABLE

if TYPE_CHECKING:
    from contextvars import Context

    from opentelemetry.trace import Span, Tracer

    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.task import Task
    from ohm_subagents.contract.usage import Usage


def task_span(task: Task) -> TaskSpan | None:
    """Return the span of a new task, which begins now; None if the host has not set a tracer provider."""
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None
    return TaskSpan(trace.get_tracer("ohm_subagents"), task)


class TaskSpan(Follower):
    """The span `invoke_agent` of a task, an observer that ends it when the task settles or is left.

    The spans `chat` and `execute_tool` of a backend that traces itself are inside it; for any other they are made here.
    Attributes are ids, names, counts and the outcome: never a prompt, an answer or a payload.
    """

    def __init__(self, tracer: Tracer, task: Task) -> None:
        self._tracer = tracer
        self._names = {"gen_ai.agent.name": task.assignment.profile, "gen_ai.conversation.id": task.session_id}
        known = {
            "gen_ai.operation.name": "invoke_agent",
            **self._names,
            "ohm.task.id": task.id,
            "ohm.session.id": task.session_id,
            "ohm.profile": task.assignment.profile,
            "ohm.backend": task.assignment.backend,
        }
        if task.assignment.parent is not None:
            known["ohm.task.parent"] = task.assignment.parent
        self._span = tracer.start_span(f"invoke_agent {task.assignment.profile}", attributes=known)
        self._inside = trace.set_span_in_context(self._span)
        self._calls: dict[str, Span] = {}
        self._turn_began_ns = 0
        self._backend = ""
        self._traces_itself = self._has_spans = False

    def enter(self, variables: Context) -> None:
        """Make this the current span in the context variables of the task."""
        variables.run(otel.attach, self._inside)

    def begin_run(self, backend: str, *, traces_itself: bool) -> None:
        """Note the id of the backend that does the next run, and that it makes spans of its own."""
        self._backend = backend
        self._traces_itself = self._has_spans = traces_itself

    def notify(self, task: Task, event: Event) -> None:
        """Show an event as a span, as a span event, or as the end of the task."""
        match event:
            case RouteResolved(route=route) if route:  # another backend may have taken the run over
                self._has_spans = self._traces_itself and route == self._backend
            case ToolStarted(call_id=call_id, tool=tool) if not self._has_spans:
                self._calls[call_id] = self._tool_call(call_id, tool)
            case ToolEnded(call_id=call_id) if call_id in self._calls:
                self._end_call(self._calls.pop(call_id), event)
            case UsageAdded(usage=usage) if usage.requests and not self._has_spans:
                self._request(task, usage)
            case TaskSettled():
                self._end(task)
            case _:
                about = _about(task, event)
                if about is not None:
                    self._span.add_event(LINES[type(event)].name, about)
                if isinstance(event, RunStarted | RequestReleased):
                    self._turn_began_ns = time_ns()

    def leave(self, task: Task) -> None:
        """End the span of a task that goes on in another process, if at all."""
        self._end(task)

    def _tool_call(self, call_id: str, tool: str) -> Span:
        known = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "gen_ai.tool.call.id": call_id}
        return self._tracer.start_span(f"execute_tool {tool}", context=self._inside, attributes=known | self._names)

    def _end_call(self, call: Span, event: ToolEnded) -> None:
        if event.status != "success":
            _fail(call, f"tool_{event.status}")
        call.end()
        self._turn_began_ns = time_ns()

    def _request(self, task: Task, usage: Usage) -> None:
        """Make the span of a model request that has just ended; it began after the last one, and its tool calls."""
        model = task.route.model
        known: dict[str, str | int] = {
            **self._names,
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": task.route.provider,
            "gen_ai.request.model": model,
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
            "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
            "ohm.usage.requests": usage.requests,
        }
        name = "chat" if model == UNAVAILABLE else f"chat {model}"
        began_ns, now_ns = self._turn_began_ns, time_ns()
        self._tracer.start_span(name, self._inside, SpanKind.CLIENT, attributes=known, start_time=began_ns).end(now_ns)
        self._turn_began_ns = now_ns

    def _end(self, task: Task) -> None:
        usage = task.activity.usage
        self._span.set_attributes(
            {
                "ohm.status": task.status,
                "ohm.provider": task.route.provider,
                "gen_ai.provider.name": task.route.provider,
                "gen_ai.request.model": task.route.model,
                "ohm.usage.requests": usage.requests,
                "ohm.usage.tool_calls": usage.tool_calls,
                # Not `gen_ai.usage.*`: those of the requests inside would be counted twice.
                "gen_ai.aggregated_usage.input_tokens": usage.input_tokens,
                "gen_ai.aggregated_usage.output_tokens": usage.output_tokens,
            }
        )
        if usage.cost_usd is not None:
            self._span.set_attribute("ohm.usage.cost_usd", float(usage.cost_usd))
        self._span.set_attributes(_tree_attributes(task.activity.tree_usage))
        self._span.set_attributes(_remaining_attributes(task))
        if task.stopped_by is not None:
            self._span.set_attribute("ohm.stopped_by", task.stopped_by)
        if task.error is not None:
            _fail(self._span, task.error.code)
        elif task.status == "cancelled":
            _fail(self._span, ErrorCode.TASK_ABORTED)
        for call in self._calls.values():
            call.end()
        self._span.end()


def _tree_attributes(tree: Usage) -> dict[str, float]:
    """Return the usage of a task with all tasks below it, each of which has a span with its own."""
    known: dict[str, float] = {
        "ohm.tree.usage.requests": tree.requests,
        "ohm.tree.usage.tool_calls": tree.tool_calls,
        "ohm.tree.usage.input_tokens": tree.input_tokens,
        "ohm.tree.usage.output_tokens": tree.output_tokens,
    }
    return known if tree.cost_usd is None else {**known, "ohm.tree.usage.cost_usd": float(tree.cost_usd)}


def _remaining_attributes(task: Task) -> dict[str, float]:
    """Return what is left of each budget of a task at its end; nothing limits what is not there."""
    account = task.activity.account
    left = None if account is None else account.remaining
    if left is None:
        return {}
    counts = {
        "requests": left.requests,
        "tokens": left.tokens,
        "cost_usd": None if left.cost_usd is None else float(left.cost_usd),
        "tool_calls": left.tool_calls,
        "spawns": left.spawns,
        "wall_ms": left.wall_ms(task.updated_ms),
    }
    return {f"ohm.remaining.{name}": count for name, count in counts.items() if count is not None}


def _about(task: Task, event: Event) -> dict[str, str | int] | None:
    """Return the attributes of an event on the span of its task; None for one that is not shown there."""
    match event:
        case RunStarted(is_follow_up=is_follow_up):
            return {"ohm.run": len(task.runs), "ohm.run.is_follow_up": is_follow_up}
        case RunEnded(outcome=outcome):
            return {"ohm.run": len(task.runs), "ohm.run.outcome": outcome.kind}
        case RequestHeld(provider=provider, why=why):
            return {"gen_ai.provider.name": provider, "ohm.held.why": why}
        case AnswerAwaited(request=request):
            return {"ohm.request.id": request.id, "ohm.request.kind": request.kind, "gen_ai.tool.name": request.tool}
        case AnswerGiven(request_id=request_id, answer=answer, by=by):
            return {"ohm.request.id": request_id, "ohm.answer": answer.kind, "ohm.answer.by": by}
        case ModelSelected(model=model, why=why):
            return {"gen_ai.request.model": model, "ohm.model.why": why}
        case OutcomeChecked(verified=verified, attempt=attempt):
            return {"ohm.verified": verified, "ohm.verified.attempt": attempt}
        case GuardTripped(guard=guard, step=step):
            return {"ohm.guard": guard, "ohm.guard.step": step}
        case TaskQueued() | FollowUpTaken() | RequestReleased():
            return {}
        case _:
            return None


def _fail(span: Span, code: str) -> None:
    span.set_attribute("error.type", str(code))
    span.set_status(StatusCode.ERROR, str(code))
