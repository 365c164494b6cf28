"""The lines of a reply, of which its envelope and all its texts are made. Nothing else asks which reply it is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ohm_subagents._views.task_texts import task_title
from ohm_subagents.contract.replies import (
    Accepted,
    AnswerReply,
    CancelReply,
    CommandRejected,
    ItemRejected,
    Missing,
    SendReply,
    StartReply,
    TasksReply,
)

if TYPE_CHECKING:
    from ohm_subagents.contract.commands import Op
    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.replies import ItemReply, Reply, WaitStatus
    from ohm_subagents.contract.task import Invocation, Status, Task


class TaskLine(NamedTuple):
    """A task."""

    task: Task
    status: Status
    """The status to show: a task whose follow-up is answered is `running` as long as the task goes on."""
    result: str | None = None
    """The text in place of the answer in a tree; None for the answer."""
    queue_position: int | None = None
    """Its place in the queue, 1 for the next to run."""


class ErrorLine(NamedTuple):
    """An item, an id or a whole command that came to nothing."""

    error: OhmError
    subject: str = ""
    """The profile or the id that the error is about; empty for a whole command."""
    id: str | None = None
    """The id in the envelope."""
    profile: str | None = None
    """The id of the profile in the envelope."""
    description: str | None = None
    """The description in the envelope."""
    invocation: Invocation | None = None
    """The kind of tool that asked."""
    title: str = ""
    """The title in a tree; empty for the error itself."""
    prompt: str | None = None
    """The prompt in a tree; None for none."""


class ReplyLines(NamedTuple):
    """A reply as it is shown."""

    op: Op
    backend: str
    """The label of the backend, where no task has one."""
    lines: tuple[TaskLine | ErrorLine, ...]
    """One line an item or id, in order; one for another command."""
    is_list: bool = False
    """The lines are items of one envelope, even if there is only one."""
    footer: str = ""
    """The last line of a text; empty for none."""
    background: bool = False
    """The tasks go on when the call is over."""
    wait_status: WaitStatus | None = None
    """The end of a wait; None while it goes on, and for another command."""
    cancelled_from: Status | None = None
    """The status before a cancel; None for another command."""
    is_cancelled: bool = False
    """The cancel was applied."""

    @property
    def tasks(self) -> list[Task]:
        """Return the tasks of all lines."""
        return [line.task for line in self.lines if isinstance(line, TaskLine)]


def lines_of(reply: Reply, *, batch: bool = False) -> ReplyLines:
    """Return the lines of a reply; a start of one task has a list only if the caller asked for a `batch`."""
    match reply:
        case StartReply(items=(only,), op=op, backend=backend, background=background) if not batch:
            return ReplyLines(op=op, backend=backend, lines=(_line(only, None),), background=background)
        case StartReply(items=items, op=op, backend=backend, background=background):
            lines = tuple(_line(item, at) for at, item in enumerate(items, start=1))
            footer = f"batch: accepted {sum(isinstance(item, Accepted) for item in items)}/{len(items)}"
            return ReplyLines(
                op=op, backend=backend, lines=lines, is_list=True, footer=footer if batch else "", background=background
            )
        case TasksReply(items=items, op=op, backend=backend, wait_status=ended):
            lines = tuple(_line(item, at) for at, item in enumerate(items, start=1))
            footer = f"wait: {ended}" if ended in {"asked", "timeout", "aborted"} else ""
            return ReplyLines(op=op, backend=backend, lines=lines, is_list=True, footer=footer, wait_status=ended)
        case SendReply(task=task, op=op):
            return ReplyLines(op=op, backend=task.assignment.backend, lines=(sent(reply),))
        case CancelReply(task=task, op=op, prior=prior, applied=applied):
            line = TaskLine(task=task, status=task.status)
            backend = task.assignment.backend
            return ReplyLines(op=op, backend=backend, lines=(line,), cancelled_from=prior, is_cancelled=applied)
        case AnswerReply(task=task, op=op):
            line = TaskLine(task=task, status=task.status)
            return ReplyLines(op=op, backend=task.assignment.backend, lines=(line,))
        case CommandRejected(items=(asked,)) if not batch:
            named = replace(reply, profile=asked.profile_id, description=asked.description, invocation=asked.invocation)
            return ReplyLines(op=reply.op, backend=reply.backend, lines=(_rejected(named),))
        case CommandRejected():
            return ReplyLines(op=reply.op, backend=reply.backend, lines=(_rejected(reply),))


def sent(reply: SendReply) -> TaskLine:
    """Return the line of a follow-up."""
    task = reply.task
    if reply.goes_on and task.status == "succeeded":
        return TaskLine(task=task, status="running")
    is_unanswered = task.status == "cancelled" or (reply.goes_on and reply.run is None)
    return TaskLine(task=task, status=task.status, result=task.summary if is_unanswered else None)


def _line(item: ItemReply | Missing, position: int | None) -> TaskLine | ErrorLine:
    """Return the line of an item at its position in a list, from 1; None for one that is all there is."""
    match item:
        case Accepted(task=task, queue_position=in_queue):
            return TaskLine(task=task, status=task.status, queue_position=in_queue)
        case ItemRejected(item=asked, error=error, profile=profile) if position is not None:
            line = _unresolved(error.task_id or f"task_batch_{position}", error, asked.profile_id)
            return line._replace(profile=profile or asked.profile_id, description=asked.description)
        case ItemRejected(item=asked, error=error, profile=profile):
            return ErrorLine(
                error=error,
                subject=asked.profile_id,
                id=error.task_id,
                profile=profile or asked.profile_id,  # in the caller's words where no profile was found
                description=asked.description,
                invocation=item.invocation or asked.invocation,
                title="" if profile is None else task_title(profile, asked.description),
                prompt=None if profile is None else asked.description or None,
            )
        case Missing(id=task_id, error=error):
            return _unresolved(task_id, error, task_id)


def _unresolved(task_id: str, error: OhmError, subject: str) -> ErrorLine:
    return ErrorLine(
        error=error, subject=subject, id=task_id, title=f"Task {task_id}", prompt=f"Resolve task {task_id}"
    )


def _rejected(reply: CommandRejected) -> ErrorLine:
    return ErrorLine(
        error=reply.error,
        id=reply.task_id,
        profile=reply.profile,
        description=reply.description,
        invocation=reply.invocation,
        title="" if reply.profile is None else task_title(reply.profile, reply.description or ""),
        prompt=None if reply.profile is None else reply.description or None,
    )
