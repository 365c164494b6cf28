"""Requests of a subagent that somebody has to answer: a tool call to approve, or a question; answers, and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from ohm_subagents._records import dataclass
from ohm_subagents.contract.ids import SessionId, TaskId

RequestKind = Literal["tool", "question"]
Scope = Literal["call", "task", "always"]
Asker = Literal["program", "callback", "host", "terminal", "command", "tool", "client", "page", "editor"]
"""The one who answers, or cancels: `program` is `Ohm.answer` or `Handle.cancel`, `callback` the one of `Ohm.open`,
`terminal` the live screen, `command` is `ohm answer` or `ohm cancel`, `tool` an op of the tool `task`, `client` an MCP
client, `page` the page of `ohm ui`, `editor` an ACP client."""
AnsweredBy = Literal[Asker, "expiry", "cancel", "fault"]
"""The one who answered. Nobody did where it is `expiry`, `cancel` (the task has ended), or `fault` (the callback
raised)."""
_BY_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "program": "by a program",
        "callback": "by a program",
        "host": "by a program",
        "terminal": "on a terminal",
        "command": "by `ohm {op}`",
        "tool": "by its parent",
        "client": "by an MCP client",
        "page": "on the page",
        "editor": "in an editor",
    }
)


def by_words(by: str, op: str) -> str:
    """Return in words who answered or cancelled, such as `on the page`; empty for nobody, and for a word of later."""
    return _BY_WORDS.get(by, "").format(op=op)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A subagent's request, which holds up its run until it is answered, denied at its expiry, or cancelled."""

    id: str
    """The id of the request, `req_…`; opaque."""
    task_id: TaskId
    """The task whose subagent asks."""
    session_id: SessionId
    """The session of that task."""
    path: tuple[TaskId, ...]
    """The tasks from the root to the one that asks, which is the last."""
    profile: str
    """The id of the profile of the subagent that asks."""
    kind: RequestKind = "tool"
    """`tool` wants a call to be approved, `question` wants an answer."""
    tool: str = ""
    """The tool that is to be called; of a question, the tool that asks it."""
    arguments: str = ""
    """The arguments of the call as JSON, for display: without secrets, and cut where they are long."""
    question: str = ""
    """The question, of a request of kind `question`."""
    options: tuple[str, ...] = ()
    """The answers that the subagent proposes; another one may be given all the same."""
    reason: str = ""
    """The rule that asks, with its file and line."""
    digest: str = ""
    """The SHA-256 of the tool and its whole arguments: an approval holds for these and no others."""
    call_id: str = ""
    """The id of the tool call in its run."""
    asked_ms: int = 0
    """The time at which it was asked, in epoch milliseconds."""
    expires_ms: int | None = None
    """The time at which it is denied, in epoch milliseconds; None for never."""


@dataclass(frozen=True, slots=True)
class Approve:
    """Let the tool call through; of a question, yes."""

    scope: Scope = "call"
    """`call` for this call alone, `task` for the same call again in this task and those below it, `always` for the same
    call in every task from now on."""
    kind: Literal["approve"] = field(default="approve", kw_only=True)


@dataclass(frozen=True, slots=True)
class Deny:
    """Refuse the tool call. Of a question: no, for this reason; without one, nobody answers it."""

    reason: str = ""
    """The reason, for the subagent's model."""
    kind: Literal["deny"] = field(default="deny", kw_only=True)


@dataclass(frozen=True, slots=True)
class Text:
    """Answer a question in words; it is no answer to a tool call."""

    text: str
    """The words."""
    kind: Literal["text"] = field(default="text", kw_only=True)


Answer = Annotated[Approve | Deny | Text, Field(discriminator="kind")]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerAwaited:
    """The run waits for an answer of a person or a program; until it comes, none of its clocks counts."""

    TEXTS: ClassVar[tuple[str, ...]] = ()
    request: Request
    """The request that is to be answered."""
    kind: Literal["answer_awaited"] = "answer_awaited"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerGiven:
    """A request was answered, and the run goes on."""

    TEXTS: ClassVar[tuple[str, ...]] = ()
    request_id: str
    """The id of the request."""
    answer: Answer
    """The answer; a `Deny` if nobody gave one."""
    by: AnsweredBy
    """The one who gave it."""
    kind: Literal["answer_given"] = "answer_given"


def still_open(requests: tuple[Request, ...], event: AnswerAwaited | AnswerGiven) -> tuple[Request, ...]:
    """Return the requests that nobody has answered yet after an event, oldest first."""
    match event:
        case AnswerAwaited(request=request):
            return (*requests, request)
        case AnswerGiven(request_id=answered):
            return tuple(one for one in requests if one.id != answered)
