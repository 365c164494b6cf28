"""Reply → task.v1 envelope. A progress frame is the projection of a reply that is not finished yet."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ohm_subagents._views.blocks import failure_block, route_block, shared_route, work_block
from ohm_subagents.contract.envelope import (
    BatchEnvelope,
    CancelEnvelope,
    Envelope,
    Item,
    StatusEnvelope,
    WaitEnvelope,
)
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.replies import (
    Accepted,
    CancelReply,
    CommandRejected,
    ItemRejected,
    Missing,
    SendReply,
    StartReply,
    TasksReply,
)
from ohm_subagents.contract.task import UNAVAILABLE, Route

if TYPE_CHECKING:
    from ohm_subagents.contract.commands import Op
    from ohm_subagents.contract.envelope import AnyEnvelope, BatchStatus
    from ohm_subagents.contract.replies import ItemReply, Reply
    from ohm_subagents.contract.task import Status, Task


def project(reply: Reply, *, batch: bool, output_max_chars: int) -> AnyEnvelope:
    """The envelope of a reply; a start is shown as its one task, or as the `batch` that the caller asked for."""
    match reply:
        case CommandRejected(items=(asked,)) if not batch:
            named = replace(reply, profile=asked.profile_id, description=asked.description, invocation=asked.invocation)
            return _rejected(named)
        case CommandRejected():
            return _rejected(reply)
        case StartReply(items=(only,)) if not batch:
            match only:
                case Accepted(task=task):
                    return project_task(task, output_max_chars=output_max_chars, queue_position=only.queue_position)
                case ItemRejected():
                    return _refused(only, reply.backend)
        case StartReply():
            return _batch(reply, output_max_chars)
        case TasksReply():
            return _seen(reply, output_max_chars)
        case SendReply():
            return project_sent(reply, output_max_chars=output_max_chars)
        case CancelReply(task=task):
            envelope = project_task(task, output_max_chars=output_max_chars, op="cancel")
            told = {} if reply.applied else {"summary": _not_applied(task)}
            applied = {"cancel_applied": reply.applied, "prior_status": reply.prior}
            return CancelEnvelope.model_validate({**dict(envelope), **told, **applied})


def project_task(task: Task, *, output_max_chars: int, op: Op = "start", queue_position: int | None = None) -> Envelope:
    """The envelope of one task, at any moment of its life."""
    return Envelope(
        op=op,
        queue_position=queue_position,
        status=task.status,
        summary=task.summary,
        backend=task.assignment.backend,
        task_id=task.id,
        **route_block(task.route),
        **work_block(task, output_max_chars),
        **failure_block(task.error),
    )


def project_sent(reply: SendReply, *, output_max_chars: int) -> Envelope:
    """A follow-up that is answered is `running` as long as the task goes on."""
    told = project_task(reply.task, output_max_chars=output_max_chars, op="send")
    return told.model_copy(update={"status": "running"}) if _is_answered_early(reply) else told


def _is_answered_early(reply: SendReply) -> bool:
    return reply.goes_on and reply.task.status == "succeeded"


def _rejected(reply: CommandRejected) -> Envelope:
    return Envelope(
        op=reply.op,
        status="failed",
        summary=reply.error.summary or reply.error.message,
        backend=reply.backend,
        task_id=reply.task_id,
        subagent_type=reply.profile,
        description=reply.description,
        invocation=reply.invocation,
        output_available=False,
        **route_block(Route(runtime=reply.backend, route=reply.backend)),
        **failure_block(reply.error),
    )


def _refused(refused: ItemRejected, backend: str) -> Envelope:
    """A single start that was never admitted, in the caller's words where no profile was found."""
    return _rejected(
        CommandRejected(
            error=refused.error,
            backend=backend,
            task_id=None if refused.error.task_id is None else TaskId(refused.error.task_id),
            profile=refused.profile or refused.item.profile_id,
            description=refused.item.description,
            invocation=refused.invocation or refused.item.invocation,
        )
    )


def _batch(reply: StartReply, output_max_chars: int) -> BatchEnvelope:
    tasks = [item.task for item in reply.items if isinstance(item, Accepted)]
    total, rejected = len(reply.items), len(reply.items) - len(tasks)
    succeeded = sum(task.status == "succeeded" for task in tasks)
    settled = all(task.is_terminal for task in tasks)
    refusals = f" ({rejected} rejected)" if rejected else ""
    over = sum(task.is_terminal for task in tasks)
    progress = f"Running batch tasks: {over}/{len(tasks)} settled{refusals}"
    return BatchEnvelope(
        status=("succeeded" if succeeded == total else "failed") if settled else "running",
        summary=f"Completed batch tasks: {succeeded}/{len(tasks)} succeeded{refusals}" if settled else progress,
        backend=_shared_backend(tasks, reply.backend),
        **shared_route(tasks, reply.backend),
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


def _seen(reply: TasksReply, output_max_chars: int) -> StatusEnvelope | WaitEnvelope:
    tasks = [item.task for item in reply.items if isinstance(item, Accepted)]
    items = [_item(index, item, output_max_chars) for index, item in enumerate(reply.items, start=1)]
    backend = _shared_backend(tasks, reply.backend)
    status = _worst(tuple("failed" if isinstance(item, Missing) else item.task.status for item in reply.items))
    summary = f"{reply.op} for {len(items)} task(s)"
    routing = shared_route(tasks, backend)
    if reply.op == "status":
        return StatusEnvelope(status=status, summary=summary, backend=backend, items=items, **routing)
    over = None if reply.wait_status in {None, "completed"} else reply.wait_status
    return WaitEnvelope(
        status=status,
        summary=f"{summary} ({over})" if over else summary,
        backend=backend,
        items=items,
        done=reply.wait_status == "completed",
        wait_status=reply.wait_status,
        timed_out=None if reply.wait_status is None else reply.wait_status == "timeout",
        **routing,
        **failure_block(WAIT_OVER.get(over or "")),
    )


def _shared_backend(tasks: list[Task], usual: str) -> str:
    backends = {task.assignment.backend for task in tasks}
    return backends.pop() if len(backends) == 1 else usual


def _worst(statuses: tuple[Status, ...]) -> Status:
    order: tuple[Status, ...] = ("failed", "running", "queued", "cancelled", "succeeded")
    for status in order:
        if status in statuses:
            return status
    return "failed"


def _not_applied(task: Task) -> str:
    return f"Task '{task.id}' is already terminal ({task.status}); cancel not applied"


WAIT_OVER = {
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


def _item(index: int, reply: ItemReply | Missing, output_max_chars: int) -> Item:
    match reply:
        case Accepted(task=task):
            return Item(
                id=task.id,
                found=True,
                status=task.status,
                summary=task.summary,
                backend=task.assignment.backend,
                queue_position=reply.queue_position,
                updated_at_epoch_ms=task.updated_ms,
                ended_at_epoch_ms=task.ended_ms,
                **route_block(task.route),
                **work_block(task, output_max_chars),
                **failure_block(task.error),
            )
        case ItemRejected(error=error, item=item):
            return _absent(error.task_id or f"task_batch_{index}", error).model_copy(
                update={"subagent_type": item.profile_id, "description": item.description}
            )
        case Missing(id=task_id, error=error):
            return _absent(task_id, error)


def _absent(item_id: str, error: OhmError) -> Item:
    return Item(
        id=item_id,
        found=False,
        summary=error.summary or error.message,
        output_available=False,
        **route_block(Route(runtime=UNAVAILABLE, route=UNAVAILABLE)),
        **failure_block(error),
    )
