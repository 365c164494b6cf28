"""Answers of tasks for the program that asked: whole, and as data where a schema or a type demands it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from pydantic import ValidationError

from ohm_subagents._app.options import answer_type, fault_of
from ohm_subagents._views.projection import project_sent, project_task
from ohm_subagents.contract.envelope import DataT, Envelope
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.outcome import Failed
from ohm_subagents.contract.profile import FINALIZE
from ohm_subagents.contract.result import Err, Ok, Result
from ohm_subagents.contract.truncation import WHOLE

if TYPE_CHECKING:
    from ohm_subagents.contract.replies import SendReply
    from ohm_subagents.contract.task import Task


def envelope_of(task: Task) -> Envelope:
    """Return the envelope of a task as it is now."""
    return _with_json(project_task(task, output_max_chars=WHOLE), task)


def answer_of(task: Task, result_type: type[DataT] | None) -> Result[Envelope[DataT], OhmError]:
    """Return the envelope of a success; else the error, which names the task that holds what was done."""
    if task.status == "succeeded":
        return _answer(project_task(task, output_max_chars=WHOLE), task, result_type)
    if not task.is_terminal:
        return Err(_goes_on(task))
    return Err(task.error or _cancelled(task.summary, task.id))


def answer_to_follow_up(reply: SendReply, result_type: type[DataT] | None) -> Result[Envelope[DataT], OhmError]:
    """Return the envelope of a follow-up that was answered, or its error."""
    if reply.run is not None and isinstance(reply.run.outcome, Failed):
        return Err(reply.run.outcome.error)
    if not reply.task.is_terminal:
        return Err(_goes_on(reply.task))
    envelope = project_sent(reply, output_max_chars=WHOLE)
    if envelope.status == "cancelled":
        return Err(_cancelled(envelope.summary, reply.task.id))
    return _answer(envelope, reply.task, result_type)


def _answer(envelope: Envelope, task: Task, result_type: type[DataT] | None) -> Result[Envelope[DataT], OhmError]:
    if result_type is None:
        return Ok(cast("Envelope[DataT]", _with_json(envelope, task)))
    final = task.activity.finalized
    try:
        data = answer_type(result_type)[0].validate_json("" if final is None else final.result or "")
    except ValidationError as invalid:
        return Err(
            OhmError(
                code=ErrorCode.FINALIZE_MISSING,
                message=f"The answer that {FINALIZE} got does not fit: {fault_of(invalid)}",
                advice="The task holds the answer as a text.",
                task_id=task.id,
            )
        )
    shape: Any = Envelope
    typed: Envelope[DataT] = shape[result_type].model_construct(**{**dict(envelope), "data": data})
    return Ok(typed)


def _with_json(envelope: Envelope, task: Task) -> Envelope:
    final = task.activity.finalized
    if task.assignment.answer != "json" or final is None or final.result is None:
        return envelope
    try:
        return envelope.model_copy(update={"data": json.loads(final.result)})
    except (ValueError, RecursionError):  # a backend that hands in answers itself may hand in anything
        return envelope


def _goes_on(task: Task) -> OhmError:
    if task.requests:
        return OhmError(
            code=ErrorCode.WAIT_TIMEOUT,
            message=f"Task '{task.id}' waits for an answer to the request '{task.requests[0].id}'.",
            advice="Answer it by Ohm.answer or `ohm answer`, then wait for the task by Ohm.handle(task_id).",
            retryable=True,
            task_id=task.id,
        )
    return OhmError(
        code=ErrorCode.WAIT_TIMEOUT,
        message=f"Task '{task.id}' has not answered in time, and goes on in the background.",
        advice="Wait for it by its handle: Ohm.handle(task_id).",
        retryable=True,
        task_id=task.id,
    )


def _cancelled(summary: str, task_id: str) -> OhmError:
    is_ended = summary.endswith((".", "?", "!", "…"))
    return OhmError(code=ErrorCode.TASK_ABORTED, message=summary if is_ended else f"{summary}.", task_id=task_id)
