"""Reply → task.v1 envelope. A progress frame is the projection of a reply that is not finished yet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from ohm_subagents._views.account import remaining_block, usage_block
from ohm_subagents._views.answer import answer_of, assistant_text, cut
from ohm_subagents._views.reply_lines import TaskLine, sent
from ohm_subagents._views.task_texts import activity, tool_rows
from ohm_subagents._views.verification import verification, verification_block
from ohm_subagents.contract.envelope import (
    BatchEnvelope,
    CancelEnvelope,
    Envelope,
    Item,
    StatusEnvelope,
    WaitEnvelope,
)
from ohm_subagents.contract.envelope_parts import ModelUse, RequestBlock, WorkspaceBlock
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.task import UNAVAILABLE, Route

if TYPE_CHECKING:
    from collections.abc import Callable

    from ohm_subagents._views.reply_lines import ErrorLine, ReplyLines
    from ohm_subagents.contract.envelope import AnyEnvelope, BatchStatus
    from ohm_subagents.contract.replies import SendReply
    from ohm_subagents.contract.requests import Request
    from ohm_subagents.contract.task import Status, Task
    from ohm_subagents.contract.workspace import WorkspaceKept

RecordT = TypeVar("RecordT", Envelope, CancelEnvelope, Item)
_WORST_FIRST: Final[tuple[Status, ...]] = ("failed", "running", "queued", "cancelled", "succeeded")
"""The statuses of items, the one that counts for all of them first: a failure, then what goes on, then an end."""


def project(reply: ReplyLines, *, output_max_chars: int) -> AnyEnvelope:
    """Return the envelope of a reply, with answers of at most `output_max_chars` characters."""
    if reply.is_list:
        return _list(reply, output_max_chars)
    (line,) = reply.lines
    if not isinstance(line, TaskLine):
        route = Route(runtime=reply.backend, route=reply.backend)
        asked = {"task_id": line.id, "invocation": line.invocation}
        return _of_error(Envelope, line, route, op=reply.op, status="failed", backend=reply.backend, **asked)
    if reply.cancelled_from is None:
        return _of_task(Envelope, line, output_max_chars, op=reply.op, task_id=line.task.id)
    cancel: dict[str, object] = {
        "op": reply.op,
        "cancel_applied": reply.is_cancelled,
        "prior_status": reply.cancelled_from,
    }
    if not reply.is_cancelled:
        cancel["summary"] = f"Task '{line.task.id}' is already terminal ({line.task.status}); cancel not applied"
    return _of_task(CancelEnvelope, line, output_max_chars, task_id=line.task.id, **cancel)


def project_task(task: Task, *, output_max_chars: int) -> Envelope:
    """Return the envelope of one task, at any moment of its life."""
    line = TaskLine(task=task, status=task.status)
    return _of_task(Envelope, line, output_max_chars, op="start", task_id=task.id)


def project_sent(reply: SendReply, *, output_max_chars: int) -> Envelope:
    """Return the envelope of the reply to a follow-up."""
    return _of_task(Envelope, sent(reply), output_max_chars, op="send", task_id=reply.task.id)


def _of_task(make: type[RecordT], line: TaskLine, output_max_chars: int, **own: object) -> RecordT:
    """Make the record of a task: the keys that an envelope and an item share, then its `own`."""
    task = line.task
    asked, done = task.assignment, task.activity
    answer = cut(answer_of(task), output_max_chars)
    is_available = bool(answer.whole)
    keys: dict[str, Any] = {
        "status": line.status,
        "summary": task.summary,
        "backend": asked.backend,
        **_routing(task.route),
        "subagent_type": asked.profile,
        "prompt": asked.prompt,
        "description": asked.description,
        "invocation": asked.invocation,
        "output_available": is_available,
        "tool_rows": tool_rows(task),
        "event_count": len(done.events),
        "assistant_text": cut(assistant_text(task), output_max_chars).shown or None,
        "usage": usage_block(task),
        "remaining": remaining_block(task),
        "duration_ms": None if task.started_ms is None else task.updated_ms - task.started_ms,
        "served_model": _served(task),
        "launch_digest": None if task.launch is None else task.launch.digest,
        "session_id": task.session_id,
        "resumed_from": asked.resumed_from,
        "files": list(done.files) or None,
        "workspace": _workspace_block(done.workspace),
        "stopped_by": task.stopped_by,
        "last_progress_at_epoch_ms": done.progress_ms if task.status in {"failed", "cancelled"} else None,
        "queue_position": line.queue_position,
        "activity": activity(task),
        "diagnostics": list(map(str, task.diagnostics)) or None,
    }
    if is_available:
        keys["output"] = answer.shown
        keys["output_truncated"] = answer.is_truncated
        keys["output_total_chars"] = len(answer.whole)
        keys["output_returned_chars"] = len(answer.shown)
    if (found := verification(task)) is not None:
        keys |= {"verified": found.verified, "verification": verification_block(found)}
    if task.requests:
        keys["requests"] = [_request_block(one) for one in task.requests]
    if task.route.models_used:
        keys["models_used"] = [ModelUse(model=one.model, why=one.why) for one in task.route.models_used]
    if task.error is not None:
        keys |= _failure(task.error)
    keys |= own
    return make.model_validate(keys)


def _workspace_block(kept: WorkspaceKept | None) -> WorkspaceBlock | None:
    if kept is None:
        return None
    return WorkspaceBlock(
        base=kept.base,
        ref=kept.ref,
        files=kept.files,
        insertions=kept.insertions,
        deletions=kept.deletions,
        landed=kept.landed,
        conflicts=list(kept.conflicts) or None,
    )


def _request_block(request: Request) -> RequestBlock:
    return RequestBlock(
        id=request.id,
        kind=request.kind,
        tool=request.tool,
        arguments=request.arguments or None,
        question=request.question or None,
        options=list(request.options) or None,
        reason=request.reason or None,
        expires_at_epoch_ms=request.expires_ms,
    )


def _of_error(make: Callable[..., RecordT], line: ErrorLine, route: Route, **own: object) -> RecordT:
    return make(
        summary=line.error.summary or line.error.message,
        subagent_type=line.profile,
        description=line.description,
        output_available=False,
        **_routing(route),
        **_failure(line.error),
        **own,
    )


def _routing(route: Route) -> dict[str, str]:
    return {"provider": route.provider, "model": route.model, "runtime": route.runtime, "route": route.route}


def _served(task: Task) -> str | None:
    """Return the model that answered, where it is called by another name than the one that was asked for."""
    served = task.route.served_model
    if not served:
        return None
    names = {task.route.model} if task.launch is None else {task.route.model, task.launch.model_name} - {""}
    return None if names == {served} else served


def _failure(error: OhmError) -> dict[str, Any]:
    return {
        "error_code": str(error.code),
        "error_category": error.resolved_category,
        "error_message": error.message,
        "error_advice": error.advice or None,
    }


def _list(reply: ReplyLines, output_max_chars: int) -> BatchEnvelope | StatusEnvelope | WaitEnvelope:
    tasks = reply.tasks
    backends = {task.assignment.backend for task in tasks}
    backend = backends.pop() if len(backends) == 1 else reply.backend
    common: dict[str, Any] = {
        "backend": backend,
        "items": [_item(line, output_max_chars) for line in reply.lines],
        **_routing(_shared_route(tasks, backend)),
    }
    if reply.op == "start":
        return _batch(tasks, len(reply.lines), common)
    statuses: set[Status] = {line.status if isinstance(line, TaskLine) else "failed" for line in reply.lines}
    status = min(statuses or _WORST_FIRST[:1], key=_WORST_FIRST.index)
    summary = f"{reply.op} for {len(reply.lines)} task(s)"
    if reply.op == "status":
        return StatusEnvelope(status=status, summary=summary, **common)
    ended = reply.wait_status
    over = None if ended is None or ended == "completed" else ended
    is_settled = all(task.is_terminal for task in tasks)
    return WaitEnvelope(
        status=status,
        summary=f"{summary} ({over})" if over else summary,
        done=ended == "completed" and is_settled,
        wait_status=ended,
        timed_out=None if ended is None else ended == "timeout",
        **(_failure(WAIT_OVER[over]) if over in WAIT_OVER else {}),
        **common,
    )


def _batch(tasks: list[Task], total: int, common: dict[str, Any]) -> BatchEnvelope:
    rejected = total - len(tasks)
    succeeded = sum(task.status == "succeeded" for task in tasks)
    over = sum(task.is_terminal for task in tasks)
    is_settled = over == len(tasks)
    done = f"Completed batch tasks: {succeeded}/{len(tasks)} succeeded"
    summary = done if is_settled else f"Running batch tasks: {over}/{len(tasks)} settled"
    status: Status = ("succeeded" if succeeded == total else "failed") if is_settled else "running"
    batch_status: BatchStatus = "completed" if succeeded == total else "partial"
    if not tasks:
        batch_status = "rejected"
    elif not is_settled:
        batch_status = "accepted"
    return BatchEnvelope(
        status=status,
        summary=f"{summary} ({rejected} rejected)" if rejected else summary,
        total_count=total,
        accepted_count=len(tasks),
        rejected_count=rejected,
        batch_status=batch_status,
        **common,
    )


def _item(line: TaskLine | ErrorLine, output_max_chars: int) -> Item:
    if not isinstance(line, TaskLine):
        return _of_error(Item, line, Route(runtime=UNAVAILABLE, route=UNAVAILABLE), id=line.id, found=False)
    task = line.task
    own = {"id": task.id, "updated_at_epoch_ms": task.updated_ms, "ended_at_epoch_ms": task.ended_ms}
    return _of_task(Item, line, output_max_chars, found=True, **own)


def _shared_route(tasks: list[Task], backend: str) -> Route:
    """Return the values that all items share, else `mixed`; tasks that never ran count if no other did."""
    ran = [task for task in tasks if task.runs] or tasks
    routes = [task.route for task in ran] or [Route(runtime=backend, route=backend)]
    return Route(
        provider=_shared({route.provider for route in routes}),
        model=_shared({route.model for route in routes}),
        runtime=_shared({route.runtime for route in routes}),
        route=_shared({route.route for route in routes}),
    )


def _shared(values: set[str]) -> str:
    return values.pop() if len(values) == 1 else "mixed"


WAIT_OVER: Final = {
    "timeout": OhmError(
        code=ErrorCode.WAIT_TIMEOUT,
        message="Wait operation timed out before all tasks reached a terminal state",
        advice="Wait again with a larger timeout_ms, or look with op status.",
    ),
    "aborted": OhmError(
        code=ErrorCode.WAIT_ABORTED,
        message="Wait operation aborted before all tasks reached a terminal state",
        advice="The tasks go on; wait again.",
    ),
}
