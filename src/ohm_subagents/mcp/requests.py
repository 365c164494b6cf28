"""Requests of subagents as forms that an MCP client shows, and the answers in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from anyio.lowlevel import checkpoint
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult
from pydantic import ValidationError

from ohm_subagents.contract import Approve, Deny, Text
from ohm_subagents.views import request_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ohm_subagents import Ohm
    from ohm_subagents.contract import Answer, Request, TaskId

_APPROVALS: Final[Mapping[str, Approve]] = {
    "approve": Approve(),
    "approve for this task": Approve("task"),
    "approve always": Approve("always"),
}
_DENY: Final = "deny"
_TOOL_FORM: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "decision": {"type": "string", "title": "Decision", "enum": [*_APPROVALS, _DENY]},
        "reason": {"type": "string", "title": "Reason of a denial, for the subagent"},
    },
    "required": ["decision"],
}


def form_of(request: Request) -> ElicitRequestFormParams:
    """Return the form that asks a person for the answer."""
    return ElicitRequestFormParams(message=_message(request), requested_schema=_schema(request))


def forms_of(requests: Iterable[Request]) -> dict[str, ElicitRequest]:
    """Return the forms of several requests, by their ids."""
    return {request.id: ElicitRequest(params=form_of(request)) for request in requests}


def answer_in(request: Request, response: object) -> Answer:
    """Return the answer in the response of a client; whatever is no clear approval is a denial."""
    try:
        filled_in = response if isinstance(response, ElicitResult) else ElicitResult.model_validate(response)
    except ValidationError:
        return Deny("The answer of the client could not be read.")
    if filled_in.action != "accept":
        return Deny(f"The person's answer: {filled_in.action}.")
    content = filled_in.content or {}
    if request.kind == "question":
        text = content.get("answer")
        return Text(text) if isinstance(text, str) and text.strip() else Deny("The answer was empty.")
    decision, reason = content.get("decision"), content.get("reason")
    approved = _APPROVALS.get(decision) if isinstance(decision, str) else None
    return approved or Deny(reason if isinstance(reason, str) else "")


def requests_of(ohm: Ohm, task_ids: Iterable[TaskId]) -> list[Request]:
    """Return the open requests of tasks and of all below them, oldest first."""
    roots = {*task_ids}
    return [request for request in ohm.requests() if roots.intersection(request.path)]


async def give_answers(ohm: Ohm, requests: Iterable[Request], responses: Mapping[str, object]) -> None:
    """Give the answers of a client; one that comes too late, or to a request that is not open, is ignored."""
    await checkpoint()
    for request in requests:
        if request.id in responses:
            await ohm.answer(request.id, answer_in(request, responses[request.id]), by="client")


def _message(request: Request) -> str:
    if request.kind == "question":
        return f"Subagent {request.profile} asks: {request_text(request)}"
    return f"Subagent {request.profile} wants to call {request_text(request)}"


def _schema(request: Request) -> dict[str, Any]:
    if request.kind == "tool":
        return dict(_TOOL_FORM)
    hint = {"description": f"Such as: {', '.join(request.options)}"} if request.options else {}
    return {
        "type": "object",
        "properties": {"answer": {"type": "string", "title": "Answer", **hint}},
        "required": ["answer"],
    }
