"""The messages by which a server asks a program that is connected: answers to requests, and calls of its functions."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from pydantic import JsonValue

from ohm_subagents._records import dataclass
from ohm_subagents.contract.requests import Answer, AnsweredBy, Request
from ohm_subagents.contract.wire.messages import WireImage, WireObject
from ohm_subagents.contract.wire.serving import AskingMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class AttendRequests(AskingMessage):
    """Ask the program about requests of subagents from now on, by `RequestPut`; `LeaveCommand` ends it."""

    by: AnsweredBy
    """For whom it answers."""
    chooses: bool = False
    """It is asked by `AttendanceAsked` if it answers for a task."""
    kind: Literal["attend_requests"] = "attend_requests"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbackMessage(AskingMessage):
    """The base of what a server asks a program, and of the answers.

    `n` is the number of `AttendRequests`, or of the command whose tasks have the function.
    """

    ask: int
    """The number of what is asked, used once on a connection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttendanceAsked(CallbackMessage):
    """Ask the program if it answers requests of a task; `AttendanceTold` is the answer."""

    path: tuple[str, ...]
    """The ids of the tasks from the root to the one that asks."""
    kind: Literal["attendance_asked"] = "attendance_asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttendanceTold(CallbackMessage):
    """The answer to `AttendanceAsked`."""

    attends: bool
    """It answers requests of the task."""
    kind: Literal["attendance_told"] = "attendance_told"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPut(CallbackMessage):
    """Ask the program for the answer to a request; `RequestAnswered` is its answer."""

    request: Request
    """The request."""
    kind: Literal["request_put"] = "request_put"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAnswered(CallbackMessage):
    """The answer to `RequestPut`."""

    answer: Answer | None = None
    """The answer; None leaves the request to others, unless there is a fault."""
    fault: str = ""
    """The reason for which the program has no answer, and the request is denied."""
    advice: str = ""
    """Advice: the next step of whoever meets the fault."""
    kind: Literal["request_answered"] = "request_answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCalled(CallbackMessage):
    """Call a child tool that is a function of the program; `FunctionReturned` is the answer."""

    tool: str
    """The name of the tool."""
    arguments: JsonValue
    """The arguments as the model wrote them."""
    session_id: str | None = None
    """The session of the subagent that calls."""
    kind: Literal["function_called"] = "function_called"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionProgressed(CallbackMessage):
    """A function reports progress."""

    text: str
    """The progress."""
    kind: Literal["function_progressed"] = "function_progressed"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionReturned(CallbackMessage):
    """The answer to `FunctionCalled`."""

    text: str
    """The result, for the model."""
    details: WireObject = field(default_factory=dict[str, JsonValue], hash=False)
    """The result, for machines."""
    is_error: bool = False
    """The call failed."""
    has_failed: bool = False
    """A subagent that the call started has failed."""
    images: tuple[WireImage, ...] = ()
    """The images of the result."""
    kind: Literal["function_returned"] = "function_returned"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbackLeft(CallbackMessage):
    """The answer is not needed any more."""

    kind: Literal["callback_left"] = "callback_left"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionsLeft(AskingMessage):
    """The tasks of the command are settled: nobody calls its functions any more."""

    kind: Literal["functions_left"] = "functions_left"
