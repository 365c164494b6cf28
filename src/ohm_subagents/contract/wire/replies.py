"""Replies as data, without the items that the asker has itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeVar

from ohm_subagents._records import dataclass
from ohm_subagents.contract.commands import Command, Op, Start, StartItem
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.replies import (
    Accepted,
    AnswerReply,
    CancelReply,
    CommandRejected,
    ItemRejected,
    Reply,
    SendReply,
    StartReply,
    TasksReply,
)
from ohm_subagents.contract.task import Invocation, Task
from ohm_subagents.contract.wire.lenient import AnyError

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class WireItemRejected:
    """An item that was never admitted, as `ItemRejected` has it."""

    error: AnyError
    """The reason."""
    profile: str | None = None
    """The id of its profile, if that was found."""
    invocation: Invocation | None = None
    """The kind of tool that asked."""
    task_id: str | None = None
    """The failed task under which the item is kept."""
    kind: Literal["refused"] = "refused"
    """Tells the replies of items apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireStartReply:
    """The reply to a start, as `StartReply` has it."""

    admitted: tuple[Accepted | WireItemRejected, ...]
    """One reply an item, in input order."""
    backend: str
    """The label of the configured backend."""
    background: bool = False
    """The tasks go on when the call is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireCommandRejected:
    """The refusal of a whole command, as `CommandRejected` has it."""

    rejected: AnyError
    """The reason."""
    backend: str
    """The label of the configured backend."""
    op: Op = "start"
    """The op of the envelope."""
    task_id: str | None = None
    """The task that the command is about."""
    profile: str | None = None
    """The id of the profile."""
    description: str | None = None
    """The description of the task."""
    invocation: Invocation | None = None
    """The kind of tool that asked."""


WireReply = WireStartReply | WireCommandRejected | TasksReply | SendReply | CancelReply | AnswerReply


def wire_reply(reply: Reply) -> WireReply:
    """Return a reply as data."""
    match reply:
        case StartReply():
            items = tuple(one if isinstance(one, Accepted) else _wire_rejected(one) for one in reply.items)
            return WireStartReply(admitted=items, backend=reply.backend, background=reply.background)
        case CommandRejected():
            return WireCommandRejected(
                rejected=reply.error,
                backend=reply.backend,
                op=reply.op,
                task_id=reply.task_id,
                profile=reply.profile,
                description=reply.description,
                invocation=reply.invocation,
            )
        case _:
            return reply


def reply_of(reply: WireReply, command: Command) -> Reply:
    """Return the reply to this command."""
    match reply:
        case WireStartReply():
            asked = items_of(command)
            items = tuple(
                one if isinstance(one, Accepted) else _rejected(one, item)
                for one, item in zip(reply.admitted, asked, strict=True)
            )
            return StartReply(items=items, backend=reply.backend, background=reply.background)
        case WireCommandRejected():
            return CommandRejected(
                error=reply.rejected,
                backend=reply.backend,
                op=reply.op,
                task_id=None if reply.task_id is None else TaskId(reply.task_id),
                profile=reply.profile,
                description=reply.description,
                invocation=reply.invocation,
                items=items_of(command),
            )
        case _:
            return reply


def items_of(command: Command) -> tuple[StartItem, ...]:
    """Return the items that a command is to start."""
    return command.items if isinstance(command, Start) else ()


def with_tasks(reply: Reply, newest: dict[TaskId, Task]) -> Reply:
    """Return a reply that shows these states of its tasks."""
    match reply:
        case StartReply():
            return replace(reply, items=tuple(_newer(one, newest) for one in reply.items))
        case TasksReply():
            return replace(reply, items=tuple(_newer(one, newest) for one in reply.items))
        case SendReply() | CancelReply() | AnswerReply():
            return replace(reply, task=newest.get(reply.task.id, reply.task))
        case CommandRejected():
            return reply


def _newer(item: T, newest: dict[TaskId, Task]) -> T:
    if isinstance(item, Accepted) and item.task.id in newest:
        return replace(item, task=newest[item.task.id])
    return item


def _wire_rejected(item: ItemRejected) -> WireItemRejected:
    return WireItemRejected(error=item.error, profile=item.profile, invocation=item.invocation, task_id=item.task_id)


def _rejected(item: WireItemRejected, asked: StartItem) -> ItemRejected:
    return ItemRejected(
        item=asked,
        error=item.error,
        profile=item.profile,
        invocation=item.invocation,
        task_id=None if item.task_id is None else TaskId(item.task_id),
    )
