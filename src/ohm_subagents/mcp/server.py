"""The MCP server of an `Ohm`: its tools, for clients of both eras of the protocol."""

from __future__ import annotations

from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, InputRequiredResult, ListToolsResult, TextContent
from mcp_types.jsonrpc import INVALID_PARAMS

from ohm_subagents import Call, ClosedError
from ohm_subagents.mcp.arrivals import ARRIVAL, Arrivals, with_arrivals
from ohm_subagents.mcp.options import INSTRUCTIONS, NAME, TASKS_EXTENSION
from ohm_subagents.mcp.parameters import ParameterCheck
from ohm_subagents.mcp.requests import forms_of
from ohm_subagents.mcp.results import call_result, tool_entry
from ohm_subagents.mcp.rounds import LiveCall
from ohm_subagents.mcp.tasks import TaskParams, Tasks, UpdateParams, takes_tasks
from ohm_subagents.suite import asked_by

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from mcp_types import CallToolRequestParams, PaginatedRequestParams

    from ohm_subagents import CallOptions, Ohm
    from ohm_subagents.mcp.tasks import Context


def server_of(ohm: Ohm, options: CallOptions, *, structured: bool) -> Server[Any]:
    """Make a server for any number of connections; its calls end with `ohm`, and each has the options."""
    calls = _Calls(ohm, options, structured=structured)
    server: Server[Any] = Server(
        NAME,
        version=version("ohm-subagents"),
        instructions=INSTRUCTIONS,
        on_list_tools=calls.list_tools,
        on_call_tool=calls.call_tool,  # type: ignore[arg-type]  # the result of an extension is a plain object
    )
    server.middleware.append(ParameterCheck(server))
    server.extensions[TASKS_EXTENSION] = {}
    server.add_request_handler("tasks/get", TaskParams, calls.tasks.get)
    server.add_request_handler("tasks/update", UpdateParams, calls.tasks.update)
    server.add_request_handler("tasks/cancel", TaskParams, calls.tasks.cancel)
    return server


class _Calls:
    """The handlers of `tools/list` and `tools/call`."""

    def __init__(self, ohm: Ohm, options: CallOptions, *, structured: bool) -> None:
        self._ohm = ohm
        self._options = options
        self._structured = structured
        self._asked: dict[str, LiveCall] = {}
        """The calls whose clients were sent away with requests, by their ids."""
        self.tasks = Tasks(ohm, structured=structured)
        self._arrivals = Arrivals(ohm)

    async def list_tools(self, context: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        arrival = ARRIVAL if self._arrivals.mailbox(context) is not None else ""
        tools = self._ohm.tools.values()
        return ListToolsResult(
            tools=[
                tool_entry(tool, structured=self._structured, more=arrival if tool.name == "task" else "")
                for tool in tools
            ]
        )

    async def call_tool(
        self, context: Context, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult | dict[str, Any]:
        """Carry out a call. A client that cancels it, or goes away, ends it, unless it is a task by then.

        Where somebody has to answer first, a client of the newer protocol is sent away with the requests, and comes
        again with the answers and the id of the call.
        """
        if params.request_state is not None:
            return await self._continued(context, params, params.request_state)
        live = LiveCall(self._ohm)
        try:
            mailbox = self._arrivals.mailbox(context)
            begin = self._ohm.begin if mailbox is None else mailbox.begin
            with asked_by("client"):
                call = await begin(params.name, params.arguments or {}, on_update=live.add, **self._options)
        except ClosedError as closed:
            live.end()
            return CallToolResult(content=[TextContent(type="text", text=f"{closed}")], is_error=True)
        live.begin(call, context)
        async with self._held(live):
            is_task = takes_tasks(context) and await live.comes_before_the_end()
            answer = await (self.tasks.created(call) if is_task else self._round(live, context))
            return await with_arrivals(answer, call, mailbox)

    async def _continued(
        self, context: Context, params: CallToolRequestParams, call_id: str
    ) -> CallToolResult | InputRequiredResult:
        """Give the answers that a client brings, and go on with its call."""
        live = self._asked.pop(call_id, None) or self._earlier(context, call_id)
        async with self._held(live):
            await live.answered(params.input_responses or {})
            return await self._round(live, context)

    def _earlier(self, context: Context, call_id: str) -> LiveCall:
        """Return a call of a server process that has ended since; its tasks go on here once they are answered."""
        call = self._ohm.handle(call_id)
        if not isinstance(call, Call):
            raise MCPError(code=INVALID_PARAMS, message=f"There is no call {call_id!r:.80} that could go on.")
        live = LiveCall(self._ohm)
        live.begin(call, context)
        return live

    @asynccontextmanager
    async def _held(self, live: LiveCall) -> AsyncGenerator[None]:
        """Cancel a call whose client cancels its request, or goes away; tell it no more, unless it comes again."""
        try:
            yield
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                with asked_by("client"):
                    await live.call.cancel()
            raise
        finally:
            if live.call.id not in self._asked:
                live.end()

    async def _round(self, live: LiveCall, context: Context) -> CallToolResult | InputRequiredResult:
        for over in [one for one in self._asked.values() if one.call.result is not None]:
            del self._asked[over.call.id]  # its client has not come again
            over.end()
        requests = await live.round(context)
        if not requests:
            return call_result(await live.call.wait(), structured=self._structured)
        self._asked[live.call.id] = live
        return InputRequiredResult(input_requests={**forms_of(requests)}, request_state=live.call.id)
