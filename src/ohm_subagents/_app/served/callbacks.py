"""The functions of a program that its server calls while it is connected: answers to requests, and child tools."""

from __future__ import annotations

from contextvars import ContextVar, copy_context
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._concurrency.faults import as_exception, error_line
from ohm_subagents._orchestrator.call_context import current_context, root_context
from ohm_subagents._orchestrator.run.answerers import Answerers, Fault
from ohm_subagents._orchestrator.run.answers import Answered
from ohm_subagents._plugins.suites.tool import ToolCall, ToolResult
from ohm_subagents._plugins.suites.tools_as_data import result_as_data
from ohm_subagents.contract.ids import SessionId, TaskId
from ohm_subagents.contract.limits import Budget
from ohm_subagents.contract.wire.callbacks import (
    AttendanceAsked,
    AttendanceTold,
    CallbackLeft,
    CallbackMessage,
    FunctionCalled,
    FunctionProgressed,
    FunctionReturned,
    FunctionsLeft,
    RequestAnswered,
    RequestPut,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from contextvars import Context

    from anyio.abc import TaskGroup

    from ohm_subagents._orchestrator.observe.logger import Logger
    from ohm_subagents._orchestrator.run.answerers import Answerer
    from ohm_subagents._plugins.suites.tool import Tool
    from ohm_subagents.contract.wire.messages import WireMessage

calling: Final[ContextVar[int | None]] = ContextVar("ohm_served_call", default=None)
"""The number of the call of a function, of the server, that the running code is part of."""


class Callbacks:
    """Calls what a program has given to its server, each time in a task of its own."""

    def __init__(self, group: TaskGroup, logger: Logger, say: Callable[[WireMessage], None]) -> None:
        self._group = group
        self._answerers = Answerers(logger, None)
        self._say = say
        self._functions: dict[int, tuple[Context, dict[str, Tool]]] = {}
        self._attending: dict[int, tuple[Context, Answerer]] = {}
        self._open: dict[int, anyio.CancelScope] = {}

    def give(self, n: int, functions: Iterable[Tool]) -> None:
        """Let the tasks of a command call functions, in the context of the caller."""
        by_name = {one.name: one for one in functions}
        if by_name:
            self._functions[n] = copy_context(), by_name

    def attend(self, n: int, answerer: Answerer) -> None:
        """Let somebody be asked about requests, in the context of the caller."""
        self._attending[n] = copy_context(), answerer

    def leave(self, n: int) -> None:
        """Ask somebody no more."""
        self._attending.pop(n, None)

    def lose(self) -> None:
        """End what goes on for a server that is gone; those who answer requests stay for the next one."""
        self._functions.clear()
        for scope in tuple(self._open.values()):
            scope.cancel()

    def take(self, message: WireMessage) -> None:
        """Carry out what the server asks."""
        match message:
            case CallbackLeft(ask=ask) if ask in self._open:
                self._open[ask].cancel()
            case FunctionsLeft(n=n):
                self._functions.pop(n, None)
            case FunctionCalled(n=n) if n in self._functions:
                context, functions = self._functions[n]
                self._begin(message, context, partial(self._call, message, functions.get(message.tool)))
            case AttendanceAsked(n=n) | RequestPut(n=n) if n in self._attending:
                context, answerer = self._attending[n]
                self._begin(message, context, partial(self._asked, message, answerer))
            case AttendanceAsked(n=n, ask=ask):
                self._say(AttendanceTold(n=n, ask=ask, attends=False))
            case RequestPut(n=n, ask=ask):
                self._say(RequestAnswered(n=n, ask=ask))
            case FunctionCalled(n=n, ask=ask, tool=tool):
                self._say(_returned(n, ask, _no_function(tool)))
            case _:
                return

    def _begin(self, message: CallbackMessage, context: Context, work: Callable[[], Awaitable[None]]) -> None:
        scope = self._open[message.ask] = anyio.CancelScope()
        context.run(self._group.start_soon, self._in_scope, message.ask, scope, work)

    async def _in_scope(self, ask: int, scope: anyio.CancelScope, work: Callable[[], Awaitable[None]]) -> None:
        try:
            with scope:
                await work()
        finally:
            del self._open[ask]

    async def _asked(self, message: AttendanceAsked | RequestPut, answerer: Answerer) -> None:
        n, ask = message.n, message.ask
        if isinstance(message, AttendanceAsked):
            attends = await answerer.is_for(tuple(map(TaskId, message.path)))
            self._say(AttendanceTold(n=n, ask=ask, attends=attends))
            return
        match await self._answerers.asked(answerer, message.request):
            case Answered(answer=answer):
                self._say(RequestAnswered(n=n, ask=ask, answer=answer))
            case Fault(reason=reason, advice=advice):
                self._say(RequestAnswered(n=n, ask=ask, fault=reason, advice=advice))
            case None:
                self._say(RequestAnswered(n=n, ask=ask))

    async def _call(self, message: FunctionCalled, tool: Tool | None) -> None:
        n, ask = message.n, message.ask

        def progressed(frame: ToolResult) -> None:
            self._say(FunctionProgressed(n=n, ask=ask, text=frame.text))

        if tool is None:
            self._say(_returned(n, ask, _no_function(message.tool)))
            return
        calling.set(ask)
        current_context.set(root_context(Budget(), level=1))  # what it starts is part of no call of the program
        session_id = None if message.session_id is None else SessionId(message.session_id)
        try:
            result = await tool.execute(
                ToolCall(arguments=message.arguments, on_update=progressed, session_id=session_id)
            )
        except Exception as exc:  # noqa: BLE001  whatever a tool raises is told to the model
            result = ToolResult(text=error_line(as_exception(exc)), details={}, is_error=True)
        self._say(_returned(n, ask, result))


def _returned(n: int, ask: int, result: ToolResult) -> FunctionReturned:
    return FunctionReturned(n=n, ask=ask, **result_as_data(result))


def _no_function(name: str) -> ToolResult:
    return ToolResult(text=f"The program has no tool '{name}' any more.", details={}, is_error=True)
