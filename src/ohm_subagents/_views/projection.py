"""Reply → task.v1 envelope. A progress frame is the projection of a reply that is not finished yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from ohm_subagents._views.rows import assistant_text, tool_rows
from ohm_subagents.contract.commands import Accepted, Refused, Rejected, Started
from ohm_subagents.contract.envelope import BatchEnvelope, Envelope, Item, UsageBlock
from ohm_subagents.contract.task import UNAVAILABLE, Route
from ohm_subagents.contract.truncation import cap

if TYPE_CHECKING:
    from ohm_subagents.contract.commands import ItemReply
    from ohm_subagents.contract.envelope import BatchStatus
    from ohm_subagents.contract.errors import Category, OhmError
    from ohm_subagents.contract.task import Invocation, Task
    from ohm_subagents.contract.usage import Usage


def project(reply: Started | Rejected, *, batch: bool, output_max_chars: int) -> Envelope | BatchEnvelope:
    """The envelope of a reply: of its one task, or of the `batch` that the caller asked for."""
    if isinstance(reply, Rejected):
        return project_refusal(reply.error, backend=reply.backend)
    if batch:
        return project_batch(reply, output_max_chars=output_max_chars)
    match reply.items[0]:
        case Accepted(task=task):
            return project_task(task, output_max_chars=output_max_chars)
        case Refused(error=error) as refused:
            return project_refusal(error, backend=reply.backend, refused=refused)


def project_task(task: Task, *, output_max_chars: int) -> Envelope:
    """The envelope of one task, at any moment of its life."""
    return Envelope(
        status=task.status,
        summary=task.summary,
        backend=task.backend,
        task_id=task.id,
        **_route(task.route),
        **_work(task, output_max_chars),
        **_failure(task.error),
    )


def project_refusal(error: OhmError, *, backend: str, refused: Refused | None = None) -> Envelope:
    """The envelope of a call that started nothing."""
    found = refused if refused is not None and refused.profile is not None else None
    return Envelope(
        status="failed",
        summary=error.summary or error.message,
        backend=backend,
        task_id=error.task_id,
        subagent_type=found.profile if found else None,
        description=found.item.description if found else None,
        invocation=found.invocation if found else None,
        **_route(Route(runtime=backend, route=backend)),
        **_failure(error),
    )


def project_batch(reply: Started, *, output_max_chars: int) -> BatchEnvelope:
    """The envelope of a batch: its items in input order, and how they add up."""
    tasks = [item.task for item in reply.items if isinstance(item, Accepted)]
    total, rejected = len(reply.items), len(reply.items) - len(tasks)
    succeeded = sum(task.status == "succeeded" for task in tasks)
    settled = all(task.is_terminal for task in tasks)
    refusals = f" ({rejected} rejected)" if rejected else ""
    return BatchEnvelope(
        status=("succeeded" if succeeded == total else "failed") if settled else "running",
        summary=f"Completed batch tasks: {succeeded}/{len(tasks)} succeeded{refusals}",
        backend=reply.backend,
        **_aggregate(tasks, reply.backend),
        items=[_item(index, item, output_max_chars) for index, item in enumerate(reply.items, start=1)],
        total_count=total,
        accepted_count=len(tasks),
        rejected_count=rejected,
        batch_status=_batch_status(tasks, rejected),
    )


def _batch_status(tasks: list[Task], rejected: int) -> BatchStatus:
    """`completed`: all items succeeded; `partial`: not all; `accepted`: some still run; `rejected`: none started."""
    if not tasks:
        return "rejected"
    if not all(task.is_terminal for task in tasks):
        return "accepted"
    return "completed" if not rejected and all(task.status == "succeeded" for task in tasks) else "partial"


def _item(index: int, reply: ItemReply, output_max_chars: int) -> Item:
    match reply:
        case Accepted(task=task):
            return Item(
                id=task.id,
                found=True,
                status=task.status,
                summary=task.summary,
                backend=task.backend,
                updated_at_epoch_ms=task.updated_ms,
                ended_at_epoch_ms=task.ended_ms,
                **_route(task.route),
                **_work(task, output_max_chars),
                **_failure(task.error),
            )
        case Refused(error=error, item=item):
            return Item(
                id=error.task_id or f"task_batch_{index}",
                found=False,
                summary=error.summary or error.message,
                subagent_type=item.profile,
                description=item.description,
                output_available=False,
                **_route(Route(runtime=UNAVAILABLE, route=UNAVAILABLE)),
                **_failure(error),
            )


class _Routing(TypedDict):
    provider: str
    model: str
    runtime: str
    route: str


def _route(route: Route) -> _Routing:
    return {"provider": route.provider, "model": route.model, "runtime": route.runtime, "route": route.route}


def _aggregate(tasks: list[Task], backend: str) -> _Routing:
    """The value that all items share, else `mixed`."""
    routes = [task.route for task in tasks] or [Route(runtime=backend, route=backend)]
    return {
        "provider": _shared({route.provider for route in routes}),
        "model": _shared({route.model for route in routes}),
        "runtime": _shared({route.runtime for route in routes}),
        "route": _shared({route.route for route in routes}),
    }


def _shared(values: set[str]) -> str:
    return values.pop() if len(values) == 1 else "mixed"


class _FailureKeys(TypedDict, total=False):
    error_code: str
    error_category: Category
    error_message: str
    error_advice: str | None


def _failure(error: OhmError | None) -> _FailureKeys:
    if error is None:
        return {}
    return {
        "error_code": str(error.code),
        "error_category": error.resolved_category,
        "error_message": error.message,
        "error_advice": error.advice or None,
    }


class _WorkKeys(TypedDict, total=False):
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
    diagnostics: list[str] | None


def _work(task: Task, output_max_chars: int) -> _WorkKeys:
    return {
        "subagent_type": task.profile,
        "prompt": task.prompt,
        "description": task.description,
        "invocation": task.invocation,
        "tool_rows": list(tool_rows(task)),
        "event_count": len(task.events),
        "assistant_text": assistant_text(task)[-output_max_chars:] or None,
        "usage": _usage(task.usage),
        "duration_ms": None if task.started_ms is None else task.updated_ms - task.started_ms,
        "session_id": task.session_id,
        "diagnostics": [str(diagnostic) for diagnostic in task.diagnostics] or None,
        **_output(task, output_max_chars),
    }


def _output(task: Task, output_max_chars: int) -> _WorkKeys:
    """The answer of a task that succeeded, capped; the whole of it stays in the task."""
    if task.status != "succeeded" or not task.output:
        return {"output_available": False}
    capped = cap(task.output, output_max_chars)
    return {
        "output_available": True,
        "output": capped.text,
        "output_truncated": capped.is_truncated,
        "output_total_chars": capped.total_chars,
        "output_returned_chars": capped.returned_chars,
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
