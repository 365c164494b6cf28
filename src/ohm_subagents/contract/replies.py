"""Replies of the engine to commands. They know no tool payload."""

from __future__ import annotations

from typing import Literal

from ohm_subagents._records import dataclass
from ohm_subagents.contract.commands import Op, StartItem
from ohm_subagents.contract.errors import OhmError
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.task import Invocation, Run, Status, Task

WaitStatus = Literal["completed", "asked", "timeout", "aborted"]
"""The end of a wait; `asked` means that a task has a request that waits for an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRejected:
    """An item that was never admitted."""

    item: StartItem
    """The item as it was asked for."""
    error: OhmError
    """The reason why it was not admitted."""
    profile: str | None = None
    """The id of its profile, if that was found."""
    invocation: Invocation | None = None
    """The kind of tool that asked."""
    task_id: TaskId | None = None
    """The failed task under which an item with a session is kept."""
    kind: Literal["refused"] = "refused"
    """Tells the replies of items apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """An item that became a task, or a task that was asked for."""

    task: Task
    """Its newest state."""
    queue_position: int | None = None
    """Its place in the queue, 1 for the next to run; None once it runs."""
    kind: Literal["accepted"] = "accepted"
    """Tells the replies of items apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """An id without a task: never given, forgotten, or expired."""

    id: str
    """The id that was asked for."""
    error: OhmError
    """The reason why there is no task."""
    kind: Literal["missing"] = "missing"
    """Tells the replies of items apart."""


ItemReply = Accepted | ItemRejected


@dataclass(frozen=True, slots=True, kw_only=True)
class StartReply:
    """The reply to `Start`. A task is shown as far as the prompt of its item goes, without follow-ups of others."""

    items: tuple[ItemReply, ...]
    """One reply an item, in input order."""
    backend: str
    """The label of the configured backend."""
    background: bool = False
    """The tasks go on when the call is over."""
    op: Literal["start"] = "start"
    """The op of the envelope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TasksReply:
    """The reply to `GetTasks` and `Wait`."""

    items: tuple[Accepted | Missing, ...]
    """One reply an id, in the order asked for."""
    backend: str
    """The label of the configured backend."""
    op: Literal["status", "wait"]
    """The op of the envelope."""
    wait_status: WaitStatus | None = None
    """The end of a wait; None while it goes on, and for `GetTasks`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendReply:
    """The reply to `Send`."""

    task: Task
    """The task as if nothing had been asked of it but the follow-up."""
    run: Run | None = None
    """The run that answered; None while none has, or if the caller stopped waiting before."""
    goes_on: bool = False
    """More is asked of the task, which goes on."""
    op: Literal["send"] = "send"
    """The op of the envelope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelReply:
    """The reply to `Cancel`, if there is such a task."""

    task: Task
    """Its newest state."""
    applied: bool
    """False if the task was settled before."""
    prior: Status
    """The status before the cancel."""
    op: Literal["cancel"] = "cancel"
    """The op of the envelope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReply:
    """The reply to `AnswerRequest`, if the answer counts, and to `LandWork`, once it is done."""

    task: Task
    """The newest state of the task that asked, or whose work it is about."""
    op: Literal["answer", "land", "discard"] = "answer"
    """The op of the envelope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRejected:
    """The whole command was refused; nothing has started."""

    error: OhmError
    """The reason of the refusal."""
    backend: str
    """The label of the configured backend."""
    op: Op = "start"
    """The op of the envelope."""
    task_id: TaskId | None = None
    """The task that the command is about, if any."""
    profile: str | None = None
    """The id of the profile, if it is known."""
    description: str | None = None
    """The description of the task, if it is known."""
    invocation: Invocation | None = None
    """The kind of tool that asked."""
    items: tuple[StartItem, ...] = ()
    """The items that were to start."""


Reply = StartReply | TasksReply | SendReply | CancelReply | CommandRejected | AnswerReply


def tasks_of(reply: Reply) -> tuple[Task, ...]:
    """Return the tasks of a reply as it shows them."""
    match reply:
        case StartReply(items=items) | TasksReply(items=items):
            return tuple(item.task for item in items if isinstance(item, Accepted))
        case SendReply(task=task) | CancelReply(task=task) | AnswerReply(task=task):
            return (task,)
        case CommandRejected():
            return ()
