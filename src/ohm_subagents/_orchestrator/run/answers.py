"""Answers to requests: checked, and as they are written for another process."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast, get_args

from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.requests import Answer, Approve, Deny, Scope, Text
from ohm_subagents.contract.result import Err, Ok, Result

if TYPE_CHECKING:
    from ohm_subagents.contract.requests import AnsweredBy, Request


class Answered(NamedTuple):
    """The answer to a request, and who gave it."""

    answer: Answer
    by: AnsweredBy


def task_of(request_id: str) -> TaskId:
    """Return the id of the task in the id of a request."""
    return TaskId(request_id.removeprefix("req_").partition("_")[2])


def checked_answer(answer: object, request: Request | None = None) -> Result[Answer, OhmError]:
    """Return an answer that is one to the request, with values of the right types; or an error: what is allowed."""
    match answer:
        case Text() if request is not None and request.kind == "tool":
            return Err(
                OhmError(
                    code=ErrorCode.INVALID_ANSWER,
                    message=f"The request '{request.id}' is for a call of '{request.tool}', which no text answers.",
                    advice="Approve the call, or deny it with the text as the reason.",
                    task_id=request.task_id,
                )
            )
        case Approve(scope=scope) if scope in get_args(Scope):
            return Ok(answer)
        case Deny(reason=said) | Text(text=said) if isinstance(cast("object", said), str):
            return Ok(answer)
        case _:
            return Err(
                OhmError(
                    code=ErrorCode.INVALID_ANSWER,
                    message=f"{answer!r:.100} is no answer to a request.",
                    advice='Allowed: Approve(), Approve("task"), Approve("always"), Deny(reason) and Text(text).',
                )
            )
