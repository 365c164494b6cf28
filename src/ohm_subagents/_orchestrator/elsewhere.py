"""Commands for tasks of other processes: sent there through the store, and carried out there (`ReceivedCommands`)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from secrets import token_hex
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._concurrency.abort import wait_or_abort
from ohm_subagents._orchestrator.admission.refused_commands import refusing
from ohm_subagents._orchestrator.excerpt import withdrawn
from ohm_subagents._plugins.control import CommandState, SentCommand, control_of
from ohm_subagents._store.following import Watch
from ohm_subagents.contract.commands import AnswerRequest, Send
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.redaction.redactor import Redaction

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ohm_subagents._plugins.control import CommandStatus, ControlInbox
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents.contract.commands import Cancel, Wait
    from ohm_subagents.contract.replies import CommandRejected, Reply
    from ohm_subagents.contract.task import Task

TAKEN_WITHIN_S: Final = 10.0
"""The time in which the process that runs a task is to take a command."""
_LOOK_S: Final = 0.25
"""The interval at which a sender looks if the process that it waits for is still there."""
_TRIES: Final = 3
"""After so many processes in a row that have ended before they took a command, it is given up."""
_LEFT: Final = MappingProxyType(
    {
        "cancel": ("was not cancelled", "Cancel it"),
        "send": ("takes no follow-up", "Send it"),
        "wait": ("has not settled, and no process runs it", "Wait for it"),
    }
)
_NAMES: Final = MappingProxyType({"send": "follow-up", "cancel": "cancel", "answer": "answer"})


class Elsewhere:
    """Has commands carried out by the processes that run their tasks."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def carried_out(self, command: Send | Cancel, *, abort: anyio.Event | None = None) -> Reply | None:
        """Return the reply of the process that runs the task of a command; None where no other one does."""
        while self._store.is_foreign(task_id := TaskId(command.id)):
            found = self._store.get(task_id)
            told = await self.execute(command, found.ok_value, abort=abort) if isinstance(found, Ok) else None
            if told is not None or isinstance(found, Err):
                return told
        return None

    async def execute(
        self, command: Send | Cancel | AnswerRequest, task: Task, *, abort: anyio.Event | None = None
    ) -> Reply | None:
        """Return the reply of the process that runs a task; None if none does any more: carry the command out here.

        A follow-up is withdrawn where its sender waits no more, because it is cancelled or sets `abort`; a cancel and
        an answer stand.
        """
        from ohm_subagents._orchestrator.command_messages import read_reply  # noqa: PLC0415  most ask nothing elsewhere

        control = control_of(self._store)
        if control is None:
            return self._refused(command, task, "Its store passes no commands on; act in the process that started it.")
        for _ in range(_TRIES):
            state = await self._sent(command, task, control, abort)
            match state.status:
                case "answered":
                    reply = read_reply(state.reply, command)
                    return reply or self._refused(command, task, "Its reply is one of a later release.")
                case "waiting" | "taken" if abort is not None and abort.is_set():
                    return withdrawn(task, was_taken=state.status == "taken")
                case "waiting":
                    return self._refused(command, task, _not_taken(command), is_retryable=True)
                case "lost" if isinstance(command, Send):
                    return self._unanswered(command, task)
                case _ if not self._store.is_foreign(task.id):
                    return None
                case _:
                    continue
        return self._refused(command, task, "The command could not be stored; the diagnostics of the store say why.")

    async def _sent(
        self, command: Send | Cancel | AnswerRequest, task: Task, control: ControlInbox, abort: anyio.Event | None
    ) -> CommandState:
        """Send a command; return how far it has come when nothing more is to be waited for."""
        from ohm_subagents._orchestrator.command_messages import written_command  # noqa: PLC0415  as above

        is_follow_up = isinstance(command, Send)
        if isinstance(command, Send):  # what else it has is for what continues a settled task
            command = replace(command, item=None, profile=None, tools=None)
        sent = SentCommand(id=token_hex(16), task_id=task.id, command=written_command(command))
        state = CommandState(status="waiting")
        control.send(sent)
        try:
            await self._store.flush()
            with Watch(control) as watch:
                has_left = partial(_has_left, control, sent.id, watch)
                await wait_or_abort(partial(_carried_out, has_left), abort if is_follow_up else None)
                state = control.state(sent.id)
            return state
        finally:
            if is_follow_up or state.status != "waiting":
                control.withdraw(sent.id)

    def first_answer(self, task: Task, request_id: str) -> AnswerRequest | None:
        """Return the answer to a request that was sent first to a process which did not live to take it."""
        from ohm_subagents._orchestrator.command_messages import read_command  # noqa: PLC0415  as above

        control = control_of(self._store)
        sent = () if control is None else control.left(task.id)
        read = (read_command(each.command, Redaction) for each in sent)
        return next((each for each in read if isinstance(each, AnswerRequest) and each.id == request_id), None)

    def left(self, command: Cancel | Send | Wait, task: Task) -> CommandRejected:
        """Return the refusal for a task whose process has ended, whose run goes on, and that nothing here takes up."""
        where = "" if task.launch is None else f" and the directory '{task.launch.cwd}'"
        verdict, act = _LEFT[command.op]
        advice = f"{act} with the configuration{where} that it was started with, where the backend reaches its run."
        why = not_taken_up(task)
        if task.requests and not task.assignment.outlives:
            why = f"its process has ended, and it waits for an answer to '{task.requests[0].id}'"
            advice = "Answer that: the task goes on with it."
        refused = self._refused(command, task, advice)
        message = f"Task '{task.id}' {verdict}: {why}."
        return replace(refused, error=replace(refused.error, message=message))

    def _unanswered(self, command: Send, task: Task) -> CommandRejected:
        """Return the refusal of a follow-up whose process has taken it, and did not live to answer it."""
        found = self._store.get(task.id)
        runs = found.ok_value.runs[len(task.runs) :] if isinstance(found, Ok) else ()
        has_begun = any(run.is_follow_up and run.prompt == command.prompt for run in runs)
        told = "A run has begun with it" if has_begun else "No run of its own has begun with it"
        refused = self._refused(command, task, f"{told}; look at the task before you send it again.")
        message = f"The process of task '{task.id}' has taken the follow-up, and has ended before it answered."
        return replace(refused, error=replace(refused.error, message=message))

    def _refused(
        self, command: Send | Cancel | AnswerRequest | Wait, task: Task, why: str, *, is_retryable: bool = False
    ) -> CommandRejected:
        error = OhmError(
            code=ErrorCode.OWNED_ELSEWHERE,
            message=f"Task '{task.id}' is run by another process ({self._store.owner(task.id)}).",
            advice=why,
            retryable=is_retryable,
            task_id=task.id,
        )
        return refusing(task, command.op)(error=error, invocation=task.assignment.invocation)


def not_taken_up(task: Task) -> str:
    """Return why nothing here goes on with a task whose process has ended and whose run goes on at its backend."""
    backend = task.assignment.backend if task.launch is None else task.launch.backend
    return f"its process has ended, and no backend '{backend}' here takes it up"


def _not_taken(command: Send | Cancel | AnswerRequest) -> str:
    kept = "It was withdrawn" if isinstance(command, Send) else "It is kept, and counts once that process goes on"
    return (
        f"It has not taken the {_NAMES[command.op]} within {TAKEN_WITHIN_S:g} seconds. {kept}. If it has hung, end it."
    )


async def _has_left(control: ControlInbox, command_id: str, watch: Watch, status: CommandStatus) -> None:
    """Wait until a command has another status."""
    while control.state(command_id).status == status:
        await watch.news(within_s=_LOOK_S)


async def _carried_out(has_left: Callable[[CommandStatus], Awaitable[None]]) -> None:
    """Wait until a command was carried out, or was not taken in time."""
    with anyio.move_on_after(TAKEN_WITHIN_S) as patience:
        await has_left("waiting")
    if not patience.cancelled_caught:
        await has_left("taken")
