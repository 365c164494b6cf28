"""Commands: what a caller asks of the engine; replies: the engine's answer. Neither knows a tool payload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.ids import SessionId, TaskId
from ohm_subagents.contract.limits import Budget, Limits, LoopPolicy
from ohm_subagents.contract.profile import Profile
from ohm_subagents.contract.redaction import Redactor
from ohm_subagents.contract.run import Run
from ohm_subagents.contract.task import Invocation, Status, Task

Op = Literal["start", "status", "wait", "send", "cancel"]
Preface = str | Callable[[], str]
"""Text that precedes a prompt, or a function that makes it, called in a thread when the run begins."""
WaitStatus = Literal["completed", "timeout", "aborted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """The choices of one call, in place of those of the profile and of the configuration; None leaves one to them."""

    model: str | None = None
    """A model pattern, as the caller typed it."""
    backend: str | None = None
    """The id of a backend."""
    limits: Limits | None = None
    """Limits of each run of the task."""
    loop: LoopPolicy | None = None
    """When a run of the task goes in circles."""
    cwd: Path | None = None
    """The directory of the task: an absolute path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The session that a task is to be in."""

    id: SessionId
    """Its id; no other session has it."""
    resumes: bool = False
    """Continue from the newest task of the session."""
    checkpoint: str | None = None
    """Continue from this state instead, of a session whose state the caller keeps."""


NO_OVERRIDES: Final = Overrides()


@dataclass(frozen=True, slots=True, kw_only=True)
class StartItem:
    """One task to start.

    Fields:
        profile: the id as the caller typed it; or the profile itself, complete, as a suite has found it. Settings of
            ohm.json hold for an id, and for a profile that belongs to a suite (`Profile.suite`).
        description: what the task is called.
        prompt: the text for the subagent.
        overrides: the choices of this call.
        invocation: the kind of tool that asks.
        is_one_shot: no follow-up is expected; true for each of several items.
        preface: text that precedes the prompt of the first run.
        session: the session of the task; None for a new one.
        refusal: the error by which a suite refuses the item; one with a session is kept as a failed task.
        timeout_message: the message of a failure by timeout.
        again: asked after each run of the prompt whether to run it once more from the beginning.
        redaction: applied to every text of the task before it is recorded or shown, when it is whole. The state of
            the conversation is not redacted; a one-shot stores none unless it has a session or must finalize.
    """

    profile: str | Profile
    description: str
    prompt: str
    overrides: Overrides = NO_OVERRIDES
    invocation: Invocation = "task-routed"
    is_one_shot: bool = False
    preface: Preface = ""
    session: Session | None = None
    refusal: OhmError | None = None
    timeout_message: str = ""
    again: Callable[[Task], bool] | None = None
    redaction: Redactor | None = field(default=None, repr=False)

    @property
    def profile_id(self) -> str:
        """Return the id of the profile, as the caller typed it or as a suite has found it."""
        return self.profile.id if isinstance(self.profile, Profile) else self.profile

    @property
    def has_settings(self) -> bool:
        """Return True if the settings of ohm.json for the id of the profile apply."""
        return not isinstance(self.profile, Profile) or bool(self.profile.suite)


def unusable_cwd(cwd: Path | None) -> OhmError | None:
    """Refuse a directory of a call that is relative, or that has `..` in it."""
    if cwd is None:
        return None
    if not cwd.is_absolute():
        return OhmError(code=ErrorCode.CWD_INVALID, message="cwd must be an absolute path")
    if ".." in cwd.parts:
        return OhmError(code=ErrorCode.CWD_INVALID, message="cwd must not contain '..' path segments")
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Start the items; a single task is a batch of one. Items run one after another unless `parallel`.

    `background` returns as soon as the items are admitted. A program may always ask for that (`by_program`), a model
    only if the configuration says so. `budget` is shared by all items and whatever they start. `limit` is how many run
    at once, None as configured. `max_depth` is how many levels of tasks there may be, for a surface with a rule of its
    own in place of the configured number.
    """

    items: tuple[StartItem, ...]
    parallel: bool = False
    background: bool = False
    by_program: bool = False
    budget: Budget | None = None
    limit: int | None = None
    max_depth: int | None = None
    op: Literal["start"] = "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The newest state of tasks (`status`)."""

    ids: tuple[str, ...]
    op: Literal["status"] = "status"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Wait until every task is settled or unknown, at most `timeout_ms`. Never cancels anything."""

    ids: tuple[str, ...]
    timeout_ms: int | None = None
    op: Literal["wait"] = "wait"


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """A follow-up to a task that is not settled; answered when the run that takes it has ended.

    `redaction` is of the task that continues a settled one; a task that goes on has its own (`StartItem.redaction`).
    """

    id: str
    prompt: str
    redaction: Redactor | None = field(default=None, repr=False)
    op: Literal["send"] = "send"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Stop a task, at once on the record."""

    id: str
    op: Literal["cancel"] = "cancel"


Command = Start | Look | Wait | Send | Cancel


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """An item that was never admitted. `profile` is the id of its profile once that was found.

    One that was to be in a session of its own choice is kept there, as the failed task `task_id`.
    """

    item: StartItem
    error: OhmError
    profile: str | None = None
    invocation: Invocation | None = None
    task_id: TaskId | None = None
    kind: Literal["refused"] = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """An item that became a task; `task` is its newest state, `queue_position` its place in line (1: the next)."""

    task: Task
    queue_position: int | None = None
    kind: Literal["accepted"] = "accepted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """An id without a task: never given, forgotten, or expired."""

    id: str
    error: OhmError
    kind: Literal["missing"] = "missing"


ItemReply = Accepted | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """One reply an item, in input order; `backend` is the label of the configured backend.

    A task is shown as far as the prompt of its item goes, without follow-ups that others sent. In the `background` it
    goes on when the call is over.
    """

    items: tuple[ItemReply, ...]
    backend: str
    background: bool = False
    op: Literal["start"] = "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Tasks by id, in the order asked for. `wait_status` is there for a wait, and None while it goes on."""

    items: tuple[Accepted | Missing, ...]
    backend: str
    op: Literal["status", "wait"]
    wait_status: WaitStatus | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A follow-up: `task` tells of its own run only, as if nothing else had been asked of the task.

    `run` is the one that answered it, None while none has, or if its caller stopped waiting before. The task itself
    `goes_on` when more is asked of it.
    """

    task: Task
    run: Run | None = None
    goes_on: bool = False
    op: Literal["send"] = "send"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """A cancel that found its task; `applied` is False when it was settled before."""

    task: Task
    applied: bool
    prior: Status
    op: Literal["cancel"] = "cancel"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """The whole command was refused.

    The other fields are there when it is about a task or a profile that is known; `items` are those it asked to start.
    """

    error: OhmError
    backend: str
    op: Op = "start"
    task_id: TaskId | None = None
    profile: str | None = None
    description: str | None = None
    invocation: Invocation | None = None
    items: tuple[StartItem, ...] = ()


Reply = Started | Seen | Sent | Stopped | Rejected
