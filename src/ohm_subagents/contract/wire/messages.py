"""The messages of a submitter, whose tasks they are, to the runner of their runs: each counts once."""

from __future__ import annotations

from dataclasses import field
from typing import ClassVar, Literal

from pydantic import JsonValue

from ohm_subagents._records import dataclass
from ohm_subagents.contract.wire.lenient import AnyError
from ohm_subagents.contract.wire.run import WireRun

WireObject = dict[str, JsonValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class WireMessage:
    """The base of all messages."""

    CARRIES: ClassVar[str] = ""
    """The field with messages that were dumped before, and travel as they are; empty for none."""
    unknown: WireObject = field(default_factory=dict[str, JsonValue], hash=False, repr=False)
    """The fields that this release does not know, at the places where they were; written again as they came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMessage(WireMessage):
    """The base of the messages about a run."""

    run_key: str
    """The run; a key is used for one attempt, and never again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownMessage(WireMessage):
    """A message of a newer release; all of it is in `unknown`."""

    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRun(RunMessage):
    """Begin a run, unless the key is known."""

    run: WireRun
    """The run."""
    ledger_after_s: float | None = None
    """The seconds of silence of the submitter after which its ledger is asked for model requests; None for never."""
    kind: Literal["start"] = "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachRun(RunMessage):
    """Send the reports of a run to this submitter from now on; `RunUnknown` is the answer if there is none."""

    since: int = 0
    """The number of the last report that the submitter has."""
    tells_end: bool = False
    """`CaughtUp` is to follow what the run has to tell, and what it asks again."""
    ledger_after_s: float | None = None
    """As in `StartRun`, from now on."""
    kind: Literal["attach"] = "attach"


@dataclass(frozen=True, slots=True, kw_only=True)
class SteerRun(RunMessage):
    """Offer a follow-up to the run; `SteerAnswered` is the answer."""

    offer: int
    """The number of the offer in the run."""
    text: str
    """The follow-up."""
    is_last: bool = False
    """Ask the run to answer now with what it has; the text is for its model."""
    kind: Literal["steer"] = "steer"


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRun(RunMessage):
    """Stop the run; `ResultReported` follows."""

    reason: str = ""
    """The reason, in one sentence."""
    kind: Literal["cancel"] = "cancel"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerMessage(RunMessage):
    """The base of the answers to what a run asks."""

    ask: int
    """The number of what was asked, in the run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted(AnswerMessage):
    """A model request may go out."""

    max_output_tokens: int | None = None
    """The tokens that the budget has left for the answer; None without a budget."""
    is_last: bool = False
    """The budget allows no further request."""
    kind: Literal["granted"] = "granted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused(AnswerMessage):
    """A model request may not go out."""

    error: AnyError
    """The reason."""
    kind: Literal["refused"] = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryJudged(AnswerMessage):
    """The answer to `ThrottleReported`."""

    asks_again: bool
    """The request may be sent again."""
    kind: Literal["retry_judged"] = "retry_judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallJudged(AnswerMessage):
    """The answer to `CallAsked`."""

    refusal: str | None = None
    """The sentence for the model that refuses the call; None lets it through."""
    kind: Literal["call_judged"] = "call_judged"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallWaits(AnswerMessage):
    """A call that `CallAsked` is about waits until somebody has answered: report where the run can be continued."""

    kind: Literal["call_waits"] = "call_waits"


@dataclass(frozen=True, slots=True, kw_only=True)
class WireImage:
    """An image in the result of a child tool."""

    data: str
    """The file in base64."""
    media_type: str
    """Its media type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgressed(AnswerMessage):
    """A child tool reports progress."""

    text: str
    """The progress."""
    kind: Literal["tool_progressed"] = "tool_progressed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReturned(AnswerMessage):
    """The answer to `ToolCalled`."""

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
    kind: Literal["tool_returned"] = "tool_returned"
