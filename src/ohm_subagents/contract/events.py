"""Events: the facts about a run, in a closed union, and the only thing that changes a Task.

A backend emits a `RunEvent`; the engine adds a `LifecycleEvent`. Consume with `match` on the class, with no
default arm where all matter: a new member then shows each place that must learn it.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from ohm_subagents._records import dataclass
from ohm_subagents.contract.acceptance import OutcomeChecked
from ohm_subagents.contract.account import AccountCharged
from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.feed import FeedRead
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.limits import ClockName, LoopStep
from ohm_subagents.contract.model_route import ModelSelected, RouteResolved
from ohm_subagents.contract.outcome import Outcome
from ohm_subagents.contract.requests import AnswerAwaited, AnswerGiven
from ohm_subagents.contract.usage import Usage
from ohm_subagents.contract.workspace import WorkspaceKept

ToolStatus = Literal["success", "error", "interrupted"]
FinalStatus = Literal["SUCCESS", "ERROR"]
Guard = ClockName | Literal["loop", "requests", "tokens", "cost", "tool_calls", "wall", "model"]
"""A clock, the loop guard, one of the budgets, or the demand for one model (`strictModel`)."""


class _Event:
    __slots__ = ()
    TEXTS: ClassVar[tuple[str, ...]] = ()
    """The fields that hold plain text of a model, a tool or a user, from which a redacted task takes the secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(_Event):
    """The next piece of the assistant's answer, exactly as streamed."""

    TEXTS: ClassVar = ("text",)
    text: str
    """The piece."""
    kind: Literal["text_delta"] = "text_delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingDelta(_Event):
    """The next piece of the model's reasoning."""

    TEXTS: ClassVar = ("text",)
    text: str
    """The piece."""
    kind: Literal["thinking_delta"] = "thinking_delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(_Event):
    """A tool call began."""

    TEXTS: ClassVar = ("tool",)
    call_id: str
    """Unique among the open calls of the run."""
    tool: str
    """The name of the tool."""
    args: str = ""
    """The arguments as compact text, JSON where the backend has it; or empty."""
    kind: Literal["tool_started"] = "tool_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUpdated(_Event):
    """A running tool call reported something."""

    TEXTS: ClassVar = ("tool",)
    call_id: str
    """The id of the call, as in `ToolStarted`."""
    tool: str
    """The name of the tool."""
    text: str = ""
    """The newest piece of its output."""
    kind: Literal["tool_updated"] = "tool_updated"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnded(_Event):
    """A tool call ended. The engine closes calls that a backend left open as `interrupted`."""

    TEXTS: ClassVar = ("tool", "text")
    call_id: str
    """The id of the call, as in `ToolStarted`."""
    tool: str
    """The name of the tool."""
    status: ToolStatus
    """The end of the call."""
    text: str = ""
    """The whole output of the call."""
    kind: Literal["tool_ended"] = "tool_ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalized(_Event):
    """The subagent has handed in its answer by a valid call of `subagent_finalize`, which is still open."""

    status: FinalStatus
    """The subagent's own verdict."""
    result: str | None = None
    """The answer; with `ERROR`, what was found all the same."""
    error: str | None = None
    """The error, with `ERROR` only."""
    kind: Literal["finalized"] = "finalized"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChanged(_Event):
    """A file was written."""

    TEXTS: ClassVar = ("path",)
    path: str
    """Relative to the working directory if the file is in it."""
    kind: Literal["file_changed"] = "file_changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageAdded(_Event):
    """Usage to be added to the task's total."""

    usage: Usage
    """The usage of the last model request."""
    kind: Literal["usage_added"] = "usage_added"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpointed(_Event):
    """The conversation so far, from which a later run of the session continues."""

    state: str
    """In the backend's own text format."""
    kind: Literal["checkpointed"] = "checkpointed"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosticRaised(_Event):
    """Something was not honoured as written; the run went on."""

    diagnostic: Diagnostic
    """The note for the user."""
    kind: Literal["diagnostic_raised"] = "diagnostic_raised"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEnded(_Event):
    """The agent is done; nothing more will be streamed in this run."""

    kind: Literal["agent_ended"] = "agent_ended"


Report = (
    TextDelta
    | ThinkingDelta
    | ToolStarted
    | ToolUpdated
    | ToolEnded
    | UsageAdded
    | FileChanged
    | WorkspaceKept
    | Checkpointed
    | Finalized
    | AgentEnded
)
"""The events of a backend that are about the work itself."""
RunEvent = Report | RouteResolved | DiagnosticRaised


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskQueued(_Event):
    """The task was admitted and waits for its turn."""

    kind: Literal["task_queued"] = "task_queued"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(_Event):
    """One prompt was given to the backend: that of the task, a correction, or a follow-up."""

    TEXTS: ClassVar = ("prompt",)
    prompt: str
    """The prompt, as it was given to the backend."""
    is_follow_up: bool = False
    """True if it answers a follow-up, and not the prompt of the task."""
    kind: Literal["run_started"] = "run_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(_Event):
    """The backend returned, failed or was stopped; closes the run, not the task."""

    TEXTS: ClassVar = ("output", "summary")
    outcome: Outcome
    """The outcome of the run."""
    output: str = ""
    """The whole answer."""
    summary: str = ""
    """One line for people."""
    exit_code: int | None = None
    """That of the process that answered, if it ended by itself; a failed run has it in its error."""
    kind: Literal["run_ended"] = "run_ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSettled(_Event):
    """Nothing more will happen to this task."""

    outcome: Outcome
    """The outcome of the task."""
    kind: Literal["task_settled"] = "task_settled"


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUpTaken(_Event):
    """The open run has taken a follow-up."""

    TEXTS: ClassVar = ("prompt",)
    prompt: str
    """The text of the follow-up."""
    kind: Literal["follow_up_taken"] = "follow_up_taken"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHeld(_Event):
    """The next model request waits; until it is released, no clock of the run counts but the cap."""

    TEXTS: ClassVar = ("provider",)
    provider: str
    """The id of the provider that is asked."""
    why: Literal["slots", "rate_limit", "budget"]
    """All slots are taken, the provider refused a request, or the budget is reserved by other requests."""
    wait_s: float | None = None
    """The seconds until the request goes out, where they are known: of the one that goes first after a refusal."""
    status: int | None = None
    """The HTTP status of the refusal, where it is known: 429 if the provider asked to slow down."""
    kind: Literal["request_held"] = "request_held"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestReleased(_Event):
    """The model request goes out."""

    kind: Literal["request_released"] = "request_released"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardTripped(_Event):
    """A clock, the loop guard or a budget stepped in."""

    TEXTS: ClassVar = ("message",)
    guard: Guard
    """The clock, the loop guard, or the budget."""
    step: LoopStep
    """Warn the model, ask it to finish, or stop the run."""
    message: str
    """The fact, in one sentence."""
    kind: Literal["guard_tripped"] = "guard_tripped"


Pause = RequestHeld | RequestReleased | AnswerAwaited | AnswerGiven
"""The events around what a run waits for; that does not count as its time."""
Limit = GuardTripped | AccountCharged
"""The events of clocks, the loop guard and budgets."""
Progress = ModelSelected | FollowUpTaken | FeedRead | OutcomeChecked
"""The events of a run that the engine adds on its way."""
ActivityEvent = Report | RequestHeld | RequestReleased
"""The events that change nothing of a task but its activity."""
LifecycleEvent = TaskQueued | RunStarted | Progress | Pause | Limit | RunEnded | TaskSettled
Event = RunEvent | LifecycleEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An event with its time."""

    at_ms: int
    """The time at which it was recorded, in epoch milliseconds."""
    event: Event
    """The event."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskEvent:
    """An event of one of several tasks."""

    task_id: TaskId
    """The task that it happened to."""
    at_ms: int
    """The time at which it was recorded, in epoch milliseconds."""
    event: Event
    """The event."""
