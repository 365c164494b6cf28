"""A program that is connected, as the server asks it: for answers to requests, and for the results of its functions.

`remote/asks.py` is another protocol, for there a question outlives the connection: it reaches the submitter over the
next one too, while here a program that is gone is asked no more.
"""

from __future__ import annotations

from contextvars import copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._orchestrator.run.answerers import Fault
from ohm_subagents._plugins.suites.tool import ToolResult
from ohm_subagents._plugins.suites.tools_as_data import result_of_data, tool_of_data
from ohm_subagents.contract.wire.callbacks import (
    AttendanceAsked,
    AttendanceTold,
    CallbackLeft,
    CallbackMessage,
    FunctionCalled,
    FunctionProgressed,
    FunctionReturned,
    RequestAnswered,
    RequestPut,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Context

    from ohm_subagents._app.served.frames import Frames
    from ohm_subagents._plugins.suites.tool import Tool, ToolCall
    from ohm_subagents.contract.ids import TaskId
    from ohm_subagents.contract.requests import Answer, Request
    from ohm_subagents.contract.wire.run import WireTool

CHOOSES_WITHIN_S: Final = 5
"""A program that takes longer to say if it answers for a task does not."""


@dataclass(slots=True)
class _Ask:
    """Something that was asked, and is not over."""

    context: Context = field(default_factory=copy_context)
    on_progress: Callable[[str], None] | None = None
    answered: anyio.Event = field(default_factory=anyio.Event)
    answer: CallbackMessage | None = None


class Program:
    """Asks a program, while it is connected.

    Fields:
        is_gone: it is not connected any more.
    """

    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._asks: dict[int, _Ask] = {}
        self._newest = 0
        self.is_gone = False

    def close(self) -> None:
        """Note that it is gone: it answers nothing any more."""
        self.is_gone = True
        for one in self._asks.values():
            one.answered.set()

    def take(self, message: CallbackMessage) -> None:
        """Take in an answer; one that comes twice, or too late, counts for nothing."""
        one = self._asks.get(message.ask)
        if one is None or one.answer is not None:
            return
        if isinstance(message, FunctionProgressed):
            if one.on_progress is not None:
                one.on_progress(message.text)
            return
        one.answer = message
        one.answered.set()

    def context_of(self, ask: int) -> Context | None:
        """Return the context of the run that calls a function, while it does."""
        one = self._asks.get(ask)
        return None if one is None else one.context

    async def attends(self, n: int, path: tuple[TaskId, ...]) -> bool:
        """Ask if it answers requests of a task."""
        with anyio.move_on_after(CHOOSES_WITHIN_S):
            told = await self._asked(n, lambda ask: AttendanceAsked(n=n, ask=ask, path=path))
            return isinstance(told, AttendanceTold) and told.attends
        return False

    async def answer(self, n: int, request: Request) -> Answer | Fault | None:
        """Ask for the answer to a request; None leaves it to others, as a program that is gone does."""
        told = await self._asked(n, lambda ask: RequestPut(n=n, ask=ask, request=request))
        if not isinstance(told, RequestAnswered):
            return None
        return Fault(told.fault, told.advice) if told.fault else told.answer

    def function(self, n: int, tool: WireTool) -> Tool:
        """Return a child tool that is a function of the program."""

        async def execute(call: ToolCall) -> ToolResult:
            if self.is_gone:
                return ToolResult(text=_gone(tool.name, "was not"), details={}, is_error=True)

            def progressed(text: str) -> None:
                if call.on_update is not None:
                    call.on_update(ToolResult(text=text, details={}))

            returned = await self._asked(
                n,
                lambda ask: FunctionCalled(
                    n=n, ask=ask, tool=tool.name, arguments=call.arguments, session_id=call.session_id
                ),
                progressed,
            )
            if isinstance(returned, FunctionReturned):
                return result_of_data(returned)
            return ToolResult(text=_gone(tool.name, "may have been"), details={}, is_error=True)

        return tool_of_data(tool, execute)

    async def _asked(
        self, n: int, message: Callable[[int], CallbackMessage], on_progress: Callable[[str], None] | None = None
    ) -> CallbackMessage | None:
        """Return the answer; None from a program that is gone."""
        if self.is_gone:
            return None
        self._newest += 1
        ask = self._newest
        one = self._asks[ask] = _Ask(on_progress=on_progress)
        try:
            self._frames.send(message(ask))
            await one.answered.wait()
            return one.answer
        finally:
            del self._asks[ask]
            if one.answer is None:
                self._frames.send(CallbackLeft(n=n, ask=ask))


def _gone(tool: str, made: str) -> str:
    return (
        f"The tool '{tool}' is a function of the program that has started this task, and that program is not connected "
        f"any more; the call {made} made. Go on without the tool, or say what you could not do."
    )
