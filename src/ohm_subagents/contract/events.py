"""Events: the facts about a run, in a closed union, and the only thing that changes a Task.

A backend emits a `RunEvent`; the engine adds a `LifecycleEvent`. Consume with `match` on the class, with no
default arm: a new member then shows every place that must learn it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ohm_subagents.contract.diagnostics import Diagnostic
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.limits import ClockName, LoopStep
from ohm_subagents.contract.usage import Usage

ToolStatus = Literal["success", "error", "interrupted"]
FinalStatus = Literal["SUCCESS", "ERROR"]
Guard = ClockName | Literal["loop", "requests", "tokens", "cost", "tool_calls", "wall"]
"""What may step in: a clock, the loop guard, or one of the budgets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeeded:
    """The run answered."""

    kind: Literal["succeeded"] = "succeeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The run ended with an error; what it did until then is in its events."""

    error: OhmError
    kind: Literal["failed"] = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """Somebody stopped the run; `reason` says who or why."""

    reason: str
    kind: Literal["cancelled"] = "cancelled"


Outcome = Succeeded | Failed | Cancelled


class _Event:
    __slots__ = ()
    TEXTS: ClassVar[tuple[str, ...]] = ()
    """The fields that hold plain text of a model, a tool or a user, from which a redacted task takes the secrets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(_Event):
    """The next piece of the assistant's answer, exactly as streamed."""

    TEXTS: ClassVar = ("text",)
    text: str
    kind: Literal["text_delta"] = "text_delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingDelta(_Event):
    """The next piece of the model's reasoning."""

    TEXTS: ClassVar = ("text",)
    text: str
    kind: Literal["thinking_delta"] = "thinking_delta"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(_Event):
    """A tool call began; `args` is its arguments as compact text, or empty."""

    TEXTS: ClassVar = ("tool",)
    call_id: str
    tool: str
    args: str = ""
    kind: Literal["tool_started"] = "tool_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUpdated(_Event):
    """A running tool call said something."""

    TEXTS: ClassVar = ("tool",)
    call_id: str
    tool: str
    text: str = ""
    kind: Literal["tool_updated"] = "tool_updated"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnded(_Event):
    """A tool call ended. The engine closes calls that a backend left open as `interrupted`."""

    TEXTS: ClassVar = ("tool", "text")
    call_id: str
    tool: str
    status: ToolStatus
    text: str = ""
    kind: Literal["tool_ended"] = "tool_ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finalized(_Event):
    """The subagent has handed in its answer by a valid call of `subagent_finalize`, which is still open.

    `SUCCESS` has a `result`; `ERROR` has an `error`, and in `result` what was found all the same, if anything.
    """

    status: FinalStatus
    result: str | None = None
    error: str | None = None
    kind: Literal["finalized"] = "finalized"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChanged(_Event):
    """A file was written; `path` is relative to the working directory where it lies in it."""

    TEXTS: ClassVar = ("path",)
    path: str
    kind: Literal["file_changed"] = "file_changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteResolved(_Event):
    """Who really does the work; an empty field keeps what is known."""

    TEXTS: ClassVar = ("provider", "model")
    provider: str = ""
    model: str = ""
    runtime: str = ""
    route: str = ""
    kind: Literal["route_resolved"] = "route_resolved"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageAdded(_Event):
    """What the last model request consumed, to be added to the task's total."""

    usage: Usage
    kind: Literal["usage_added"] = "usage_added"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpointed(_Event):
    """The conversation so far, in the backend's own text format, from which a later run of the session continues."""

    state: str
    kind: Literal["checkpointed"] = "checkpointed"


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosticRaised(_Event):
    """Something was not honoured as written; the run went on."""

    diagnostic: Diagnostic
    kind: Literal["diagnostic_raised"] = "diagnostic_raised"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEnded(_Event):
    """The agent said that it is done; nothing more will be streamed in this run."""

    kind: Literal["agent_ended"] = "agent_ended"


RunEvent = (
    TextDelta
    | ThinkingDelta
    | ToolStarted
    | ToolUpdated
    | ToolEnded
    | Finalized
    | FileChanged
    | RouteResolved
    | UsageAdded
    | Checkpointed
    | DiagnosticRaised
    | AgentEnded
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskQueued(_Event):
    """The task was admitted and waits for its turn."""

    kind: Literal["task_queued"] = "task_queued"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(_Event):
    """One prompt was given to the backend: that of the task, one that asks for more of it, or a follow-up."""

    TEXTS: ClassVar = ("prompt",)
    prompt: str
    is_follow_up: bool = False
    kind: Literal["run_started"] = "run_started"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded(_Event):
    """The backend returned, failed or was stopped; closes the run, not the task.

    `exit_code` is that of the process that answered, if it ended by itself; one that failed has it in its error.
    """

    TEXTS: ClassVar = ("output", "summary")
    outcome: Outcome
    output: str = ""
    summary: str = ""
    exit_code: int | None = None
    kind: Literal["run_ended"] = "run_ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSettled(_Event):
    """Nothing more will happen to this task."""

    outcome: Outcome
    kind: Literal["task_settled"] = "task_settled"


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowUpTaken(_Event):
    """The run that goes on has taken a follow-up."""

    TEXTS: ClassVar = ("prompt",)
    prompt: str
    kind: Literal["follow_up_taken"] = "follow_up_taken"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestHeld(_Event):
    """The next model request waits: for a slot at its provider, for one that asked to slow down, or for the budget.

    While it waits, no clock of the run counts but the cap.
    """

    TEXTS: ClassVar = ("provider",)
    provider: str
    why: Literal["slots", "rate_limit", "budget"]
    kind: Literal["request_held"] = "request_held"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestReleased(_Event):
    """The model request goes out."""

    kind: Literal["request_released"] = "request_released"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardTripped(_Event):
    """A guard of the engine stepped in: a clock, the loop guard or a budget. After `stop` the run ends."""

    TEXTS: ClassVar = ("message",)
    guard: Guard
    step: LoopStep
    message: str
    kind: Literal["guard_tripped"] = "guard_tripped"


LifecycleEvent = (
    TaskQueued | RunStarted | FollowUpTaken | RequestHeld | RequestReleased | GuardTripped | RunEnded | TaskSettled
)
Event = RunEvent | LifecycleEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An event and when it was recorded, in epoch milliseconds."""

    at_ms: int
    event: Event
