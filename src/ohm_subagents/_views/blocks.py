"""The blocks that envelopes are made of: who did the work, what went wrong, what was done."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from ohm_subagents._views.entries import answer_of
from ohm_subagents._views.rows import activity, assistant_text, tool_rows
from ohm_subagents.contract.envelope import UsageBlock
from ohm_subagents.contract.task import Route
from ohm_subagents.contract.truncation import truncate

if TYPE_CHECKING:
    from ohm_subagents.contract.errors import Category, OhmError
    from ohm_subagents.contract.events import Guard
    from ohm_subagents.contract.task import Invocation, Task
    from ohm_subagents.contract.usage import Usage


class Routing(TypedDict):
    provider: str
    model: str
    runtime: str
    route: str


def route_block(route: Route) -> Routing:
    return {"provider": route.provider, "model": route.model, "runtime": route.runtime, "route": route.route}


def shared_route(tasks: list[Task], backend: str) -> Routing:
    """The value that all items share, else `mixed`. One that never ran has no say where others did."""
    ran = [task for task in tasks if task.runs] or tasks
    routes = [task.route for task in ran] or [Route(runtime=backend, route=backend)]
    return {
        "provider": _shared({route.provider for route in routes}),
        "model": _shared({route.model for route in routes}),
        "runtime": _shared({route.runtime for route in routes}),
        "route": _shared({route.route for route in routes}),
    }


def _shared(values: set[str]) -> str:
    return values.pop() if len(values) == 1 else "mixed"


class FailureKeys(TypedDict, total=False):
    error_code: str
    error_category: Category
    error_message: str
    error_advice: str | None


def failure_block(error: OhmError | None) -> FailureKeys:
    if error is None:
        return {}
    return {
        "error_code": str(error.code),
        "error_category": error.resolved_category,
        "error_message": error.message,
        "error_advice": error.advice or None,
    }


class WorkKeys(TypedDict, total=False):
    subagent_type: str
    prompt: str
    description: str
    invocation: Invocation
    output_available: bool
    output: str
    output_truncated: bool
    output_total_chars: int
    output_returned_chars: int
    tool_rows: list[str]
    event_count: int
    assistant_text: str | None
    usage: UsageBlock | None
    duration_ms: int | None
    session_id: str
    resumed_from: str | None
    files: list[str] | None
    stopped_by: Guard | None
    last_progress_at_epoch_ms: int | None
    activity: str | None
    diagnostics: list[str] | None


def work_block(task: Task, output_max_chars: int) -> WorkKeys:
    return {
        "subagent_type": task.assignment.profile,
        "prompt": task.assignment.prompt,
        "description": task.assignment.description,
        "invocation": task.assignment.invocation,
        "tool_rows": list(tool_rows(task)),
        "event_count": len(task.activity.events),
        "assistant_text": truncate(assistant_text(task), output_max_chars).text or None,
        "usage": _usage(task.activity.usage),
        "duration_ms": None if task.started_ms is None else task.updated_ms - task.started_ms,
        "session_id": task.session_id,
        "resumed_from": task.assignment.resumed_from,
        "files": list(task.activity.files) or None,
        "stopped_by": task.stopped_by,
        "last_progress_at_epoch_ms": task.activity.progress_ms if task.status in {"failed", "cancelled"} else None,
        "activity": activity(task),
        "diagnostics": [str(diagnostic) for diagnostic in task.diagnostics] or None,
        **output_block(answer_of(task), output_max_chars),
    }


def output_block(output: str, output_max_chars: int) -> WorkKeys:
    """An answer with what was cut of it; the whole of it stays in the task."""
    if not output:
        return {"output_available": False}
    kept = truncate(output, output_max_chars)
    return {
        "output_available": True,
        "output": kept.text,
        "output_truncated": kept.is_truncated,
        "output_total_chars": kept.total_chars,
        "output_returned_chars": kept.returned_chars,
    }


def _usage(usage: Usage) -> UsageBlock | None:
    if not (usage.requests or usage.tool_calls):
        return None
    return UsageBlock(
        requests=usage.requests,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        tool_calls=usage.tool_calls,
        cost_usd=None if usage.cost_usd is None else str(usage.cost_usd),
    )
