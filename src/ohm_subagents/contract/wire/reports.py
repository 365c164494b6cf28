"""The reports of a runner on its runs, and what these ask: numbered in each run, and sent in order."""

from __future__ import annotations

from dataclasses import field
from decimal import Decimal
from typing import Literal

from pydantic import JsonValue

from ohm_subagents._records import dataclass
from ohm_subagents.contract.profile import Decision
from ohm_subagents.contract.wire.lenient import AnyError, AnyEvent
from ohm_subagents.contract.wire.messages import RunMessage, WireObject


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport(RunMessage):
    """The base of what a runner reports of a run."""

    n: int
    """The number of the report in its run, from 1 on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventReported(RunReport):
    """The run emitted an event."""

    event: AnyEvent
    """The event; one of a newer release is an `UnknownEvent`."""
    kind: Literal["event_reported"] = "event_reported"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultReported(RunReport):
    """The run is over; this is its last report."""

    text: str = ""
    """The whole answer, without an error."""
    summary: str = ""
    """One line in place of the engine's; empty leaves that."""
    exit_code: int | None = None
    """The exit code of the process that gave the answer."""
    error: AnyError | None = None
    """The failure; None for an answer."""
    work: str | None = None
    """The work of the run in a workspace of kind `bundle`: a git bundle in base64, empty where no file differs; None of
    a shared one, or where it is not known."""
    work_error: AnyError | None = None
    """The reason for which that is not known."""
    kind: Literal["result_reported"] = "result_reported"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskMessage(RunReport):
    """The base of what a run asks its submitter."""

    ask: int
    """The number of what is asked, in the run."""
    is_again: bool = False
    """A submitter that is gone was asked before, and may have done what was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestAsked(AskMessage):
    """Ask to send a model request; `Granted` or `Refused` is the answer, and `AskLeft` the end of the request."""

    provider: str
    """The provider."""
    model: str = ""
    """The model."""
    input_tokens: int = 0
    """An estimate of the tokens in."""
    max_output_tokens: int | None = None
    """The limit for tokens out; None without one."""
    input_price: Decimal | None = None
    """The price of the tokens in, in US dollars; None if it is unknown."""
    output_price: Decimal | None = None
    """The price of a thousand tokens out, in US dollars; None if it is unknown."""
    kind: Literal["request_asked"] = "request_asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleReported(AskMessage):
    """Report that a provider is overloaded or asked to slow down, and ask if the request is sent again."""

    provider: str
    """The provider."""
    attempt: int
    """The number of the attempt, from 1 on."""
    retry_after_s: float | None = None
    """The seconds that the provider asked for."""
    status: int | None = None
    """The HTTP status of its refusal, where it is known."""
    kind: Literal["throttle_reported"] = "throttle_reported"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAsked(AskMessage):
    """Ask to call a tool of the runner."""

    tool: str
    """The tool."""
    arguments: WireObject = field(default_factory=dict[str, JsonValue], hash=False)
    """The arguments that it will get."""
    call_id: str = ""
    """The id of the call in its run."""
    judged: Decision | None = None
    """The verdict of the rules, of a run that works in a clone: only its runner sees where paths lead there."""
    kind: Literal["call_asked"] = "call_asked"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled(AskMessage):
    """Have the submitter carry out a call of one of its child tools."""

    tool: str
    """The tool."""
    arguments: JsonValue = field(default=None, hash=False)
    """The arguments as the model wrote them."""
    kind: Literal["tool_called"] = "tool_called"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskLeft(RunReport):
    """The run no longer needs the answer, or what the answer allowed is over."""

    ask: int
    """The number of what was asked, in the run."""
    kind: Literal["ask_left"] = "ask_left"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaughtUp(RunReport):
    """The submitter has heard what the run did before it was attached to, and what it waits for."""

    kind: Literal["caught_up"] = "caught_up"


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeringOpened(RunReport):
    """The run takes follow-ups from now on."""

    can_finish: bool = False
    """It can be asked to answer now, too."""
    kind: Literal["steering_opened"] = "steering_opened"


@dataclass(frozen=True, slots=True, kw_only=True)
class SteerAnswered(RunReport):
    """The answer to `SteerRun`."""

    offer: int
    """The number of the offer."""
    is_taken: bool
    """The run has taken it."""
    kind: Literal["steer_answered"] = "steer_answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeringClosed(RunReport):
    """The run takes no more follow-ups."""

    kind: Literal["steering_closed"] = "steering_closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunUnknown(RunMessage):
    """The runner knows no run of this key."""

    kind: Literal["run_unknown"] = "run_unknown"
