"""The errors of requests that cannot be answered: they say which answer counts, or why none does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_subagents._orchestrator import elsewhere
from ohm_subagents._orchestrator.run.answers import Answered, task_of
from ohm_subagents._views.request_texts import answer_text
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.requests import AnswerAwaited, AnswerGiven
from ohm_subagents.contract.result import Err

if TYPE_CHECKING:
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents.contract.requests import Request
    from ohm_subagents.contract.task import Task


async def not_open(store: Store, request_id: str) -> OhmError:
    """Return the error for a request that there is not, or that is not open any more, with the answer it has."""
    found = store.get(task_of(request_id))
    if isinstance(found, Err):
        return OhmError(
            code=ErrorCode.UNKNOWN_REQUEST_ID,
            message=f"There is no request '{request_id}'.",
            advice="`ohm requests` lists those that wait for an answer.",
        )
    task = found.ok_value
    taken = await answer_taken(store, task, request_id)
    became = "it was answered, or denied when it expired or its run ended" if taken is None else _became(taken)
    former = await asked(store, task, request_id)
    again = next((one.id for one in task.requests if former is not None and one.digest == former.digest), None)
    return OhmError(
        code=ErrorCode.REQUEST_CLOSED,
        message=f"The request '{request_id}' is not open any more: {became}.",
        advice=f"`ohm task {task.id} --transcript` shows what came of it."
        if again is None
        else f"The same is asked again as '{again}': answer that.",
        task_id=task.id,
    )


async def asked(store: Store, task: Task, request_id: str) -> Request | None:
    """Return a request as it was asked, open or not; None if the store keeps none of this id."""
    events = (one.event for one in await store.history(task))
    requests = (one.request for one in events if isinstance(one, AnswerAwaited))
    return next((one for one in requests if one.id == request_id), None)


async def answer_taken(store: Store, task: Task, request_id: str) -> Answered | None:
    """Return the answer that counts for a request; None if the store keeps none."""
    events = (one.event for one in await store.history(task))
    given = (one for one in events if isinstance(one, AnswerGiven) and one.request_id == request_id)
    taken = next(given, None)
    return None if taken is None else Answered(taken.answer, taken.by)


def _became(taken: Answered) -> str:
    match taken.by:
        case "expiry":
            return "it was denied when it expired"
        case "cancel":
            return "it was denied when its run ended"
        case _:
            return f"it has the answer '{answer_text(*taken)}'"


def not_going_on(request: Request, error: OhmError) -> OhmError:
    """Return the error for an answer with which the task could not go on in this process."""
    why = error.message.rstrip(".")
    return OhmError(
        code=error.code,
        message=f"The answer to '{request.id}' was not taken, for its task cannot go on here: {why}.",
        advice="It waits on; answer with the configuration of its start (--config, or `config` of Ohm.open).",
        task_id=request.task_id,
    )


def not_taken(request: Request) -> OhmError:
    """Return the error for an answer that the process that runs the task has not taken."""
    return OhmError(
        code=ErrorCode.ANSWER_NOT_TAKEN,
        message=f"The process that runs task '{request.task_id}' has not taken the answer to '{request.id}' within "
        f"{elsewhere.TAKEN_WITHIN_S:g} seconds.",
        advice="The answer is kept, and counts once that process goes on, unless the request expires before. If the "
        "process has hung, end it and answer again.",
        retryable=True,
        task_id=request.task_id,
    )


def not_stored(request: Request) -> OhmError:
    """Return the error for an answer that could not be stored."""
    return OhmError(
        code=ErrorCode.ANSWER_NOT_TAKEN,
        message=f"The answer to '{request.id}' could not be stored, so task '{request.task_id}' does not go on.",
        advice="The diagnostics of the store say why; answer again once it can be written.",
        retryable=True,
        task_id=request.task_id,
    )
