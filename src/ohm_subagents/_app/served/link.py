"""The connection of an `Ohm` to the server of its tasks, opened on first use, and again when it was lost."""

from __future__ import annotations

from contextlib import aclosing, asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
from anyio import create_task_group

from ohm_subagents._app.served import place
from ohm_subagents._app.served.callbacks import Callbacks
from ohm_subagents._app.served.frames import Frames
from ohm_subagents._app.served.place import ServerError, connected, connected_or_started, unreachable
from ohm_subagents._orchestrator.run.answerers import Answerer
from ohm_subagents.contract.errors import ErrorCode, OhmError
from ohm_subagents.contract.ids import TaskId
from ohm_subagents.contract.spelling import did_you_mean
from ohm_subagents.contract.task import Task, apply
from ohm_subagents.contract.wire.callbacks import AttendRequests, CallbackMessage, FunctionsLeft
from ohm_subagents.contract.wire.codec import common_version
from ohm_subagents.contract.wire.lenient import UnknownEvent
from ohm_subagents.contract.wire.serving import (
    AskingMessage,
    CommandAnswered,
    CommandShown,
    EventTold,
    LeaveCommand,
    OhmOpened,
    OhmRefused,
    OpenOhm,
    TaskLeft,
    TasksObserved,
)
from ohm_subagents.contract.wire.versions import VERSIONS, WireError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Iterable

    from anyio.abc import ByteStream, TaskGroup, TaskStatus

    from ohm_subagents._app.sources import Sources
    from ohm_subagents._plugins.suites.tool import Tool
    from ohm_subagents.contract.events import Event
    from ohm_subagents.contract.wire.messages import WireMessage


class _EndedError(ServerError):
    """The server has ended the connection before it said anything."""


@dataclass(slots=True, kw_only=True)
class Asked:
    """A command that the server carries out, or an observer of its tasks.

    Fields:
        tell: gets each event of its tasks, with the task after it.
        leave: gets each task that goes on in another process.
        end: called when the connection is lost.
        show: gets the reply as it would be now.
        tasks: the newest state of each task that was told of.
        answered: set once there is an answer, or the connection is lost.
        answer: the answer; None while there is none, and if the connection was lost.
    """

    tell: Callable[[Task, Event], None]
    leave: Callable[[Task], None] = lambda _task: None
    end: Callable[[], None] = lambda: None
    show: Callable[[CommandShown], None] = lambda _shown: None
    tasks: dict[TaskId, Task] = field(default_factory=dict[TaskId, Task])
    answered: anyio.Event = field(default_factory=anyio.Event)
    answer: CommandAnswered | TasksObserved | None = None


class Link:
    """Sends what a program asks, each with a number of its own, and takes what the server says to it.

    Fields:
        is_closed: the program has left its `Ohm`.
    """

    def __init__(self, group: TaskGroup, opening: OpenOhm, sources: Sources, server: str | Path) -> None:
        self._group = group
        self._opening = opening
        self._env = sources.env
        self._starts = server == "auto"
        self._path = place.socket_of(sources.env) if self._starts else Path(server)
        self._frames: Frames | None = None
        self._opens = anyio.Lock()
        self._asked: dict[int, Asked] = {}
        self._newest = 0
        self.is_closed = False
        self._callbacks = Callbacks(group, sources.logger, self.say)
        self._attending: dict[int, AttendRequests] = {}

    async def open(self) -> None:
        """Connect, unless there is a connection. Raises `ServerError`."""
        async with self._opens:
            if self.is_closed:
                raise ServerError(unreachable("The Ohm is closed."))
            if self._frames is not None:
                return
            try:
                self._frames = await self._group.start(self._connected)
            except _EndedError:  # by a server that was about to end; then there is none now, or another
                self._frames = await self._group.start(self._connected)

    def ask(self, asked: Asked, message: Callable[[int], WireMessage], functions: Iterable[Tool] = ()) -> int:
        """Send a message about something new, whose tasks may call functions; return its number.

        Raises `WireError` if it cannot be said.
        """
        self._newest += 1
        number = self._newest
        if self._frames is None:
            asked.answered.set()
            return number
        self._frames.send(message(number))
        self._callbacks.give(number, functions)
        self._asked[number] = asked
        return number

    @contextmanager
    def attending(self, answerer: Answerer) -> Generator[None]:
        """Let somebody here be asked about requests, by the server that there is, and by the next one."""
        self._newest += 1
        number = self._newest
        message = AttendRequests(n=number, by=answerer.by, chooses=answerer.attends is not None)
        self._attending[number] = message
        self._callbacks.attend(number, answerer)
        self.say(message)
        try:
            yield
        finally:
            self._callbacks.leave(number)
            del self._attending[number]
            self.say(LeaveCommand(n=number))

    def say(self, message: WireMessage) -> None:
        """Send a message that has no answer; without a connection there is nobody to care."""
        if self._frames is not None:
            self._frames.send(message)

    def forget(self, number: int) -> None:
        """Take nothing more that is said about this."""
        self._asked.pop(number, None)

    def close(self) -> None:
        """End the connection, and all that waits for an answer; what the server does for us goes on."""
        self.is_closed = True
        self._lost()

    async def _connected(self, *, task_status: TaskStatus[Frames]) -> None:
        frames = Frames(await self._stream())
        try:
            async with aclosing(frames.read()) as messages:
                await self._greet(frames, messages)
                for attendance in self._attending.values():
                    frames.send(attendance)
                task_status.started(frames)
                async with create_task_group() as group:
                    group.start_soon(frames.write)
                    with suppress(WireError):  # it is no server of ours: the connection is lost
                        async for message in messages:
                            self._take(message)
                    group.cancel_scope.cancel()
        finally:
            if self._frames is frames:
                self._lost()
            await frames.aclose()

    async def _greet(self, frames: Frames, messages: AsyncGenerator[WireMessage]) -> None:
        try:
            frames.send(self._opening)
        except WireError as wrong:
            raise ServerError(OhmError(code=ErrorCode.NOT_SERVED, message=str(wrong))) from None
        first = None
        with anyio.move_on_after(place.GREETS_WITHIN_S) as patience:
            await frames.flush()
            try:
                first = await anext(messages, None)
                if isinstance(first, OhmOpened):
                    frames.version = common_version((first.speaks,), they="the server", we="this program")
                    return
            except WireError as wrong:
                raise _refused(str(wrong)) from None
        if patience.cancelled_caught:
            hangs = f"The server at '{self._path}' gave no answer within {place.GREETS_WITHIN_S} seconds."
            raise ServerError(unreachable(hangs, place.end_it(self._path)))
        match first:
            case OhmRefused(reason=reason, advice=advice):
                raise _refused(reason, advice or _END_IT)
            case None:
                raise _EndedError(
                    unreachable("The server ended the connection before it opened an Ohm.", "Call again.")
                )
            case _:
                raise _refused("The server did not say that it opened an Ohm: it is no server of ours, or newer.")

    async def _stream(self) -> ByteStream:
        if self._starts:
            return await connected_or_started(self._path, self._env)
        found = await connected(self._path)
        if found is None:
            start = f"Start one with `ohm serve --socket {self._path}`, or use the server 'auto'."
            meant = did_you_mean(f"{self._path}", ("auto",))
            raise ServerError(unreachable(f"No server listens at '{self._path}'.", f"{meant}{start}"))
        return found

    def _lost(self) -> None:
        """End all that waits: what the server does for us may go on, and this connection does not tell."""
        frames, self._frames = self._frames, None
        if frames is not None:
            frames.finish()
        self._callbacks.lose()
        asked, self._asked = self._asked, {}
        for one in asked.values():
            one.answered.set()
            one.end()
            for task in one.tasks.values():
                one.leave(task)

    def _take(self, message: WireMessage) -> None:
        if isinstance(message, CallbackMessage | FunctionsLeft):
            self._callbacks.take(message)
            return
        asked = self._asked.get(message.n) if isinstance(message, AskingMessage) else None
        if asked is None:
            return
        match message:
            case EventTold():
                self._tell(asked, message)
            case TaskLeft(task_id=task_id):
                task = asked.tasks.pop(TaskId(task_id), None)
                if task is not None:
                    asked.leave(task)
            case CommandShown():
                asked.show(message)
            case CommandAnswered() | TasksObserved():
                if isinstance(message, TasksObserved) and message.task is not None:
                    asked.tasks[message.task.id] = message.task
                asked.answer = message
                asked.answered.set()
            case _:
                return

    def _tell(self, asked: Asked, told: EventTold) -> None:
        former = asked.tasks.get(TaskId(told.task_id))
        if isinstance(told.event, UnknownEvent) or (told.task is None and former is None):
            return
        task = told.task
        if task is None and former is not None:
            task = apply(former, told.event, at_ms=told.at_ms)
        if task is None:
            return
        asked.tasks[task.id] = task
        asked.tell(task, told.event)
        if task.is_terminal:
            asked.tasks.pop(task.id, None)


_END_IT: Final = "`ohm serve --stop` ends the server; the next program starts a new one."


def _refused(reason: str, advice: str = _END_IT) -> ServerError:
    return ServerError(OhmError(code=ErrorCode.SERVER_UNREACHABLE, message=reason, advice=advice))


@asynccontextmanager
async def served_by(server: str | Path, sources: Sources) -> AsyncGenerator[Link]:
    """Give the connection of an `Ohm` to its server. What is wrong with it is the answer of each command."""
    config = sources.config
    opening = OpenOhm(
        versions=VERSIONS,
        cwd=str(sources.cwd.absolute()),
        config=str(config.absolute()) if isinstance(config, Path) else None if config is None else dict(config),
        env=dict(sources.env),
        trust=sources.trusts,
        profiles=sources.profiles,
        mcp_servers={name: one.as_written() for name, one in sources.mcp_servers.items()},
    )
    raised: Exception | None = None
    async with create_task_group() as group:
        link = Link(group, opening, sources, server)
        approvals = sources.approvals
        try:
            with suppress(ServerError):
                await link.open()
            with nullcontext() if approvals is None else link.attending(Answerer(approvals, "callback")):
                yield link
        except Exception as exc:  # noqa: BLE001  raised again below, out of the task group that would wrap it
            raised = exc
        finally:
            link.close()
            group.cancel_scope.cancel()
    if raised is not None:
        raise raised
