"""The engine of an `Ohm` whose tasks a server owns: it sends commands there, and tells observers here."""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ohm_subagents._app.served.callbacks import calling
from ohm_subagents._app.served.link import Asked
from ohm_subagents._app.served.place import ServerError, unreachable
from ohm_subagents._app.served.sent_command import as_data
from ohm_subagents._app.streams import EventStream
from ohm_subagents._concurrency.abort import wait_or_abort
from ohm_subagents._concurrency.own_loop import OwnEventLoop
from ohm_subagents._orchestrator.admission.refused_commands import unsendable
from ohm_subagents._orchestrator.asking import signed
from ohm_subagents._orchestrator.call_context import current_program_call
from ohm_subagents._orchestrator.observe.call import CommandCall
from ohm_subagents._orchestrator.observe.observers import Follower
from ohm_subagents._store.sessions import session_tasks
from ohm_subagents.contract.commands import Cancel, Send, Start, Wait
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.replies import CancelReply, CommandRejected, tasks_of
from ohm_subagents.contract.result import Ok
from ohm_subagents.contract.task import UNAVAILABLE
from ohm_subagents.contract.wire.replies import items_of, reply_of, with_tasks
from ohm_subagents.contract.wire.serving import (
    CommandAnswered,
    ExecuteCommand,
    LeaveCommand,
    ObserveTasks,
    TasksObserved,
)
from ohm_subagents.contract.wire.versions import WireError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterable

    import anyio

    from ohm_subagents._app.served.link import Link
    from ohm_subagents._orchestrator.observe.call import ProgramCall
    from ohm_subagents._plugins.stores import Store
    from ohm_subagents._plugins.suites.interface import Progress, SessionTask
    from ohm_subagents._plugins.suites.observer import Observer
    from ohm_subagents._plugins.suites.tool import Tool
    from ohm_subagents.contract.commands import Command
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.ids import SessionId
    from ohm_subagents.contract.replies import Reply
    from ohm_subagents.contract.task import Task
    from ohm_subagents.contract.wire.commands import WireCommand
    from ohm_subagents.contract.wire.serving import CommandShown


class ServedOrchestrator:
    """Has the methods of an `Orchestrator`; the tasks are those of a server, whose store this process reads."""

    def __init__(self, link: Link, store: Store) -> None:
        self._link = link
        self.store = store
        self._own_loop = OwnEventLoop()

    async def execute(
        self,
        command: Command,
        *,
        observer: Observer | None = None,
        progress: Progress | None = None,
        abort: anyio.Event | None = None,
    ) -> Reply:
        """Let the server carry out a command, as `Orchestrator.execute`; without a server the reply says why."""
        self.check_open()
        program = current_program_call()
        call = CommandCall(observer, progress, abort, program)
        if isinstance(command, Start):
            command = call.completed(command)
        command = signed(command)
        if isinstance(command, Send) and (refused := unsendable(command, self.store)) is not None:
            call.tell(refused)
            return refused
        try:
            sent, functions = await as_data(command)
            await self._link.open()
            reply = await _Execution(self._link, command, call, abort, program).answer(sent, functions)
        except WireError as wrong:
            reply = _rejected(command, OhmError(code=ErrorCode.NOT_SERVED, message=str(wrong)))
        except ServerError as failure:
            reply = _rejected(command, failure.error)
        call.tell(reply)
        return reply

    async def read_session(self, session_id: SessionId) -> tuple[SessionTask, ...]:
        """Return the stored tasks of a session, oldest first; none if it is unknown."""
        self.check_open()
        return await session_tasks(self.store, session_id)

    def check_open(self) -> None:
        """Refuse to work for an `Ohm` that was left, and in a thread or an event loop that is not its own."""
        self._own_loop.check()

    async def cancel(self, task_id: TaskId) -> bool:
        """Cancel a task; return True if it was not settled before."""
        reply = await self.execute(signed(Cancel(id=task_id), "program"))
        return isinstance(reply, CancelReply) and reply.applied

    @asynccontextmanager
    async def watching(self, task_id: TaskId, observer: Observer) -> AsyncGenerator[tuple[Task | None, bool]]:
        """Follow one task; gives its state as it is at the start, None if it is unknown, and True if it runs there.

        Without a server that is what the store has.
        """
        try:
            await self._link.open()
        except ServerError:
            yield self._stored(task_id), False
            return
        asked = Asked(tell=observer.notify, leave=_leave_of(observer))
        number = self._link.ask(asked, lambda n: ObserveTasks(n=n, task_id=task_id))
        try:
            await asked.answered.wait()
            if isinstance(asked.answer, TasksObserved):
                yield asked.answer.task, asked.answer.is_here
            else:
                yield self._stored(task_id), False
        finally:
            self._leave(number)

    @contextmanager
    def watching_all(self, observer: Observer) -> Generator[None]:
        """Follow every task of the server's `Ohm`, also those that start meanwhile, while there is a connection."""
        asked = Asked(tell=observer.notify, leave=_leave_of(observer))
        if isinstance(observer, EventStream):
            asked.end = observer.end
        number = self._link.ask(asked, lambda n: ObserveTasks(n=n))
        try:
            yield
        finally:
            self._leave(number)

    def close(self, reason: str, *, is_store_ours: bool, detaches: bool) -> None:
        """End the connection; the tasks of the server go on."""
        del reason, is_store_ours, detaches
        self._own_loop.close()
        self._link.close()

    def _leave(self, number: int) -> None:
        self._link.forget(number)
        self._link.say(LeaveCommand(n=number))

    def _stored(self, task_id: TaskId) -> Task | None:
        found = self.store.get(task_id)
        return found.ok_value if isinstance(found, Ok) else None


class _Execution:
    """One command that the server carries out."""

    def __init__(
        self, link: Link, command: Command, call: CommandCall, abort: anyio.Event | None, program: ProgramCall | None
    ) -> None:
        self._link = link
        self._command = command
        self._call = call
        self._abort = abort
        self._program = program
        self._shown: Reply | None = None
        self._followers = call.observers(self._snapshot)
        self._asked = Asked(tell=self._tell, show=self._show)
        if program is not None:
            self._asked.leave = _leave_of(program.observer)

    async def answer(self, sent: WireCommand, functions: Iterable[Tool]) -> Reply:
        """Return the reply. To cancel this cancels what the server waits for."""
        program, asked, within = self._program, self._asked, calling.get()
        call = None if program is None else program.id
        is_left = self._abort is not None and self._abort.is_set()
        number = self._link.ask(
            asked, lambda n: ExecuteCommand(n=n, command=sent, call=call, is_left=is_left, within=within), functions
        )
        try:
            if await wait_or_abort(asked.answered.wait, self._abort):
                self._link.say(LeaveCommand(n=number))
                await asked.answered.wait()
        finally:
            if not asked.answered.is_set():
                self._link.say(LeaveCommand(n=number))
            if program is None or not asked.answered.is_set():
                self._link.forget(number)
            self._followers = ()
        if not isinstance(asked.answer, CommandAnswered):
            raise ServerError(self._lost())
        return reply_of(asked.answer.reply, self._command)

    def _lost(self) -> OhmError:
        """Return the error of a command that the server has not answered, with the ids of the tasks it is about."""
        lost = "The connection to the server was lost before it answered."
        if self._link.is_closed:
            lost = "The Ohm was closed before its server answered; tasks go on there."
        match self._command:
            case Wait(ids=ids):
                tasks = [TaskId(one) for one in ids]
            case Send(id=task_id) | Cancel(id=task_id):
                tasks = [TaskId(task_id)]
            case _:
                tasks = [] if self._shown is None else [one.id for one in tasks_of(self._shown)]
        named = f" ({', '.join(tasks)})" if tasks else ""
        kept = f"Its tasks{named} are in the store: `ohm tasks` lists them; what was not started can be started again."
        return replace(unreachable(lost, kept), task_id=tasks[0] if len(tasks) == 1 else None)

    def _snapshot(self) -> Reply:
        if self._shown is None:
            raise AssertionError("Nothing is shown before the server has shown a reply.")
        return with_tasks(self._shown, self._asked.tasks)

    def _show(self, shown: CommandShown) -> None:
        self._shown = reply_of(shown.reply, self._command)
        self._call.show(self._snapshot)

    def _tell(self, task: Task, event: Event) -> None:
        if self._program is not None:
            self._program.observer.notify(task, event)
        for follower in self._followers:
            follower.notify(task, event)


def _rejected(command: Command, error: OhmError) -> CommandRejected:
    return CommandRejected(error=error, backend=UNAVAILABLE, op=command.op, items=items_of(command))


def _leave_of(observer: Observer) -> partial[None]:
    return partial(_left, observer)


def _left(observer: Observer, task: Task) -> None:
    if isinstance(observer, Follower):
        observer.leave(task)
