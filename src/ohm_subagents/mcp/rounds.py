"""A call in the rounds that its client makes: each ends with the result, or with what somebody has to answer first."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ohm_subagents.mcp.options import CLIENT_LEFT
from ohm_subagents.mcp.requests import answer_in, form_of, give_answers, requests_of
from ohm_subagents.mcp.results import progress_line
from ohm_subagents.suite import asked_by

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server.session import ServerSession

    from ohm_subagents import Call, Ohm
    from ohm_subagents.contract import Answer, Request, TaskId
    from ohm_subagents.mcp.tasks import Context
    from ohm_subagents.suite import ToolResult


def takes_forms(context: Context) -> bool:
    """Return True if the client of this request shows forms to a person."""
    declared = context.session.client_capabilities
    asked = None if declared is None else declared.elicitation
    return asked is not None and (asked.form is not None or asked.url is None)


class LiveCall:
    """A call that goes on, with its progress for the client that waits for it."""

    def __init__(self, ohm: Ohm) -> None:
        self._ohm = ohm
        self._new, self._lines = anyio.create_memory_object_stream[str](float("inf"))
        self._first = anyio.Event()
        self._asked = anyio.Event()
        self._answering = ExitStack()
        self._context: Context | None = None
        self._call: Call | None = None

    @property
    def call(self) -> Call:
        """The call, once it has begun."""
        if self._call is None:
            raise RuntimeError("The call has not begun.")
        return self._call

    def add(self, frame: ToolResult) -> None:
        """Take a frame of its progress."""
        self._first.set()
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # nobody waits any more
            self._new.send_nowait(progress_line(frame))

    def begin(self, call: Call, context: Context) -> None:
        """Let the client of its first round answer what its subagents request, if that shows forms."""
        self._call, self._context = call, context
        if takes_forms(context):
            self._answering.enter_context(self._ohm.answering(self._answer, by="client", attends=self._attends))

    def end(self) -> None:
        """Tell the client no more, and ask it nothing."""
        self._answering.close()
        self._new.close()
        self._lines.close()

    async def comes_before_the_end(self) -> bool:
        """Wait for the first frame; return False if the call is over before it, or has started no task by then."""
        async with anyio.create_task_group() as group:
            group.start_soon(_cancel_at_the_end, self.call, group.cancel_scope)
            await self._first.wait()
            group.cancel_scope.cancel()
        return self.call.result is None and bool(self.call.task_ids)

    async def round(self, context: Context) -> list[Request]:
        """Tell its progress until it is over, or somebody has to be asked; return the requests, none at the end.

        If the client closes its HTTP connection, the call is cancelled.
        """
        while self.call.result is None:
            self._context, self._asked = context, anyio.Event()
            if takes_forms(context) and _is_modern(context) and (requests := self._requests()):
                return requests
            async with anyio.create_task_group() as watch:
                if context.request is not None and CLIENT_LEFT in context.request.scope:
                    watch.start_soon(_cancel_after, context.request.scope[CLIENT_LEFT], self.call)
                watch.start_soon(_leave_after, self._asked, watch.cancel_scope)
                async with anyio.create_task_group() as sender:
                    sender.start_soon(self._send, context.session)
                    await self.call.wait()
                    self._new.close()
                watch.cancel_scope.cancel()
        return []

    async def answered(self, responses: Mapping[str, object]) -> None:
        """Give the answers that a client brings with its next round."""
        await give_answers(self._ohm, self._requests(), responses)

    def _requests(self) -> list[Request]:
        return requests_of(self._ohm, self.call.task_ids)

    async def _send(self, session: ServerSession) -> None:
        count = 0
        async for line in self._lines:
            count += 1
            await session.report_progress(count, message=line)

    def _attends(self, path: tuple[TaskId, ...]) -> bool:
        return not {*self.call.task_ids}.isdisjoint(path)

    async def _answer(self, request: Request) -> Answer | None:
        """Ask the client, or end its round so that it asks and comes again."""
        context = self._context
        if context is None:
            return None
        if _is_modern(context):
            self._asked.set()
            await anyio.sleep_forever()  # until the answer comes with the next round, from elsewhere, or not at all
        form = form_of(request)
        try:
            filled_in = await context.session.elicit_form(form.message, form.requested_schema, context.request_id)
        except MCPError:  # it cannot, after all
            return None
        return answer_in(request, filled_in)


def _is_modern(context: Context) -> bool:
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


async def _cancel_at_the_end(call: Call, scope: anyio.CancelScope) -> None:
    await call.wait()
    scope.cancel()


async def _cancel_after(event: anyio.Event, call: Call) -> None:
    await event.wait()
    with asked_by("client"):
        await call.cancel()


async def _leave_after(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()
