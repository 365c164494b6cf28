"""Requests of subagents and their answers as text for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from ohm_subagents._views.quantities import counted
from ohm_subagents.contract.requests import Approve, Deny, Text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ohm_subagents.contract.requests import Answer, AnsweredBy, Request

UNANSWERED: Final[frozenset[AnsweredBy]] = frozenset({"expiry", "cancel"})
"""Nobody answered the request, which was denied."""
_BY: Final[Mapping[str, str]] = {
    "expiry": "nobody answered in time",
    "cancel": "the task has ended",
    "fault": "the one who was asked failed",
}


def landing_text(request: Request) -> str:
    """Return what would land if a request is approved, such as `2 files, +10 -3`; empty for any other request."""
    if request.tool != "land" or request.call_id or not request.arguments.startswith('{"ref"'):  # a call of a tool
        return ""
    facts = json.loads(request.arguments)
    return f"{counted(facts['files'], 'file')}, +{facts['insertions']} -{facts['deletions']}"


def request_text(request: Request) -> str:
    """Return a request in one paragraph: the call with its arguments, or the question with its options."""
    if request.kind == "question":
        options = f" ({' / '.join(request.options)})" if request.options else ""
        return f"{request.question}{options}"
    reason = f" ({request.reason})" if request.reason else ""
    return f"{request.tool} {landing_text(request) or request.arguments}".rstrip() + reason


def asks_line(request: Request) -> str:
    """Return what a task that waits shows in place of an answer: the id first, which whoever answers needs."""
    return f"Asks ({request.id}): {request_text(request)}"


def answer_text(answer: Answer, by: AnsweredBy) -> str:
    """Return an answer and who gave it, in one sentence."""
    match answer:
        case Approve(scope="call"):
            said = "approved"
        case Approve(scope=scope):
            said = f"approved ({scope})"
        case Deny() if by in UNANSWERED:
            said = "denied"
        case Deny(reason=reason):
            said = f"denied: {reason}" if reason else "denied"
        case Text(text=text):
            said = text
    return f"{said} [{_BY.get(by, by)}]"
