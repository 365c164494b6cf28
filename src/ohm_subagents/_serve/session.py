"""One program that is connected: carries out its commands, and tells it of their tasks."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING

import anyio

from ohm_subagents._concurrency.faults import error_line
from ohm_subagents._orchestrator.call_context import part_of
from ohm_subagents._orchestrator.observe.call import ProgramCall
from ohm_subagents._orchestrator.observe.observers import Follower
from ohm_subagents._orchestrator.orphans import FOR_ALL
from ohm_subagents._orchestrator.run.answerers import Answerer
from ohm_subagents._orchestrator.task_options import NO_OPTIONS
from ohm_subagents._serve.program import Program
from ohm_subagents._serve.starters import starting
from ohm_subagents.contract.commands import Wait
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.events import TaskSettled
from ohm_subagents.contract.ids import CallId, TaskId
from ohm_subagents.contract.replies import CommandRejected, tasks_of
from ohm_subagents.contract.task import UNAVAILABLE
from ohm_subagents.contract.wire.callbacks import AttendRequests, CallbackMessage, FunctionsLeft
from ohm_subagents.contract.wire.commands import WireSend, WireStart, command_of
from ohm_subagents.contract.wire.replies import wire_reply
from ohm_subagents.contract.wire.serving import (
    CommandAnswered,
    CommandShown,
    EventTold,
    ExecuteCommand,
    LeaveCommand,
    ObserveTasks,
    TaskLeft,
    TasksObserved,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from anyio.abc import TaskGroup, TaskStatus

    from ohm_subagents._app.engine import Engine
    from ohm_subagents._app.served.frames import Frames
    from ohm_subagents._serve.starters import Starters
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.replies import Reply
    from ohm_subagents.contract.task import Task
    from ohm_subagents.contract.wire.commands import WireCommand
    from ohm_subagents.contract.wire.messages import WireMessage

logger = logging.getLogger(__name__)


class Teller(Follower):
    """Tells a program of tasks: each is sent whole at first and when it settles, and as its events in between."""

    def __init__(self, n: int, frames: Frames) -> None:
        self._n = n
        self._frames = frames
        self._known: set[TaskId] = set()
        self._has_shown = False

    def knows(self, task: Task) -> None:
        """Note that the program has this task as it is now."""
        self._known.add(task.id)

    def notify(self, task: Task, event: Event) -> None:
        """See `Observer.notify`."""
        is_whole = task.id not in self._known or isinstance(event, TaskSettled)
        self._known.add(task.id)
        told = EventTold(
            n=self._n, task_id=task.id, at_ms=task.updated_ms, event=event, task=task if is_whole else None
        )
        self._frames.send(told)

    def leave(self, task: Task) -> None:
        """See `Follower.leave`."""
        self._frames.send(TaskLeft(n=self._n, task_id=task.id))

    def step(self, snapshot: Callable[[], Reply], event: Event | None) -> None:
        """See `Progress.step`: the program changes the reply itself by what it is told of its tasks."""
        if event is None or not self._has_shown:
            self._has_shown = True
            self._frames.send(CommandShown(n=self._n, reply=wire_reply(snapshot())))


class Session:
    """The commands, observers and callbacks of one program. Commands go on when it is gone; all else ends with it."""

    def __init__(self, engine: Engine, starters: Starters, frames: Frames, commands: TaskGroup) -> None:
        self._engine = engine
        self._starters = starters
        self._frames = frames
        self._commands = commands
        self._program = Program(frames)
        self._left: dict[int, anyio.Event] = {}

    async def serve(self, messages: AsyncGenerator[WireMessage]) -> None:
        """Take messages until the connection ends."""
        async with anyio.create_task_group() as observers:
            try:
                async for message in messages:
                    await self._take(message, observers)
            finally:
                self._program.close()
                left = self._starters.leave(self._program)
                for answerer in self._starters.answerers:
                    self._engine.requests.put_to(answerer, left)
            observers.cancel_scope.cancel()

    async def _take(self, message: WireMessage, observers: TaskGroup) -> None:
        """Take a message, and begin what it asks for in the order of the messages."""
        match message:
            case ExecuteCommand():
                self._left[message.n] = anyio.Event()
                if message.is_left:
                    self._left[message.n].set()
                begun = anyio.Event()
                within = None if message.within is None else self._program.context_of(message.within)
                (within or copy_context()).run(self._commands.start_soon, self._execute, message, begun)
                await begun.wait()
            case ObserveTasks():
                self._left[message.n] = anyio.Event()
                await observers.start(self._observe, message)
            case AttendRequests():
                self._left[message.n] = anyio.Event()
                await observers.start(self._attend, message)
            case CallbackMessage():
                self._program.take(message)
            case LeaveCommand(n=n) if n in self._left:
                self._left[n].set()
            case _:  # of a newer release
                return

    async def _execute(self, message: ExecuteCommand, begun: anyio.Event) -> None:
        """Carry out a command, and answer it; what is wrong with it ends nothing else."""
        try:
            reply = await self._reply(message, begun)
            self._frames.send(CommandAnswered(n=message.n, reply=wire_reply(reply)))
        except Exception as failure:
            logger.exception("The command '%s' of a program could not be carried out.", message.command.op)
            self._frames.send(CommandAnswered(n=message.n, reply=wire_reply(_failed(message.command, failure))))
            reply = None
        finally:
            begun.set()
            del self._left[message.n]
        if reply is not None and _has_functions(message.command):
            await self._let_go(message.n, reply)

    async def _reply(self, message: ExecuteCommand, begun: anyio.Event) -> Reply:
        teller, program = Teller(message.n, self._frames), self._program
        call = (
            None if message.call is None else ProgramCall(id=CallId(message.call), observer=teller, options=NO_OPTIONS)
        )
        command = command_of(message.command, self._engine.redaction, partial(program.function, message.n))
        starting.set(program)
        begun.set()
        with nullcontext() if call is None else part_of(call):
            return await self._engine.orchestrator.execute(
                command,
                observer=teller if call is None else None,
                progress=teller,
                abort=self._left[message.n],
            )

    async def _let_go(self, n: int, reply: Reply) -> None:
        """Tell the program once no task of a command calls its functions any more."""
        going_on = tuple(task.id for task in tasks_of(reply) if not task.is_terminal)
        try:
            await self._engine.orchestrator.execute(Wait(ids=going_on))
        except Exception:
            logger.exception("The server does not know when tasks are over.", extra={"task_id": " ".join(going_on)})
        self._frames.send(FunctionsLeft(n=n))

    async def _attend(self, message: AttendRequests, *, task_status: TaskStatus[None]) -> None:
        """Ask the program about requests of its own tasks; one that answers for all, about those of nobody too."""
        program, number, by = self._program, message.n, message.by

        async def attends(path: tuple[TaskId, ...]) -> bool:
            starter = self._starters.of(path[0])
            if starter is not program and (starter is not None or by not in FOR_ALL):
                return False
            return not message.chooses or await program.attends(number, path)

        answerer = Answerer(partial(program.answer, number), by, attends)
        with self._engine.orphans.answering(answerer.callback, by, attends):
            task_status.started()
            if by not in FOR_ALL:
                await self._left[number].wait()
            else:
                self._engine.requests.put_to(answerer)
                self._starters.answerers.append(answerer)
                try:
                    await self._left[number].wait()
                finally:
                    self._starters.answerers.remove(answerer)
        del self._left[number]

    async def _observe(self, message: ObserveTasks, *, task_status: TaskStatus[None]) -> None:
        teller, left, orchestrator = Teller(message.n, self._frames), self._left[message.n], self._engine.orchestrator
        if message.task_id is None:
            with orchestrator.watching_all(teller):
                self._frames.send(TasksObserved(n=message.n))
                task_status.started()
                await left.wait()
        else:
            async with orchestrator.watching(TaskId(message.task_id), teller) as (task, is_here):
                if task is not None:
                    teller.knows(task)
                self._frames.send(TasksObserved(n=message.n, task=task, is_here=is_here))
                task_status.started()
                await left.wait()
        del self._left[message.n]


def _failed(command: WireCommand, failure: Exception) -> CommandRejected:
    error = OhmError(
        code=ErrorCode.SERVER_UNREACHABLE,
        message=f"The server failed to carry out the command: {error_line(failure)}.",
        advice="Its log, beside its socket, has the traceback; `ohm tasks` lists the tasks that it has started.",
    )
    return CommandRejected(error=error, backend=UNAVAILABLE, op=command.op)


def _has_functions(command: WireCommand) -> bool:
    """Return True if the tasks of a command may call functions of the program."""
    match command:
        case WireStart(items=items):
            return any(one.overrides.functions for one in items)
        case WireSend(item=item, functions=functions):
            return bool(functions) or (item is not None and bool(item.overrides.functions))
        case _:
            return False
