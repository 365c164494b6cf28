"""The MCP server of an `Ohm`: its tools, for clients of both eras of the protocol."""

from __future__ import annotations

from contextlib import closing, suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server import Server
from mcp_types import CallToolResult, ListToolsResult, TextContent

from ohm_subagents import ClosedError
from ohm_subagents.mcp.options import CLIENT_LEFT, INSTRUCTIONS, NAME, TASKS_EXTENSION
from ohm_subagents.mcp.results import call_result, progress_line, tool_entry
from ohm_subagents.mcp.tasks import TaskParams, Tasks, UpdateParams, takes_tasks

if TYPE_CHECKING:
    from mcp.server.session import ServerSession
    from mcp_types import CallToolRequestParams, PaginatedRequestParams

    from ohm_subagents import Call, CallOptions, Ohm
    from ohm_subagents.mcp.tasks import Context
    from ohm_subagents.suite import ToolResult


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
        self.tasks = Tasks(ohm, structured=structured)

    async def list_tools(self, _context: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(
            tools=[tool_entry(tool, structured=self._structured) for tool in self._ohm.tools.values()]
        )

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult | dict[str, Any]:
        """Carry out a call. A client that cancels it, or goes away, ends it, unless it is a task by then."""
        frames = _Frames()
        with closing(frames):
            try:
                call = await self._ohm.begin(params.name, params.arguments or {}, on_update=frames.add, **self._options)
            except ClosedError as closed:
                return CallToolResult(content=[TextContent(type="text", text=f"{closed}")], is_error=True)
            try:
                if takes_tasks(context) and await frames.come_before_the_end(call):
                    return await self.tasks.created(call)
                await frames.sent(call, context)
            except anyio.get_cancelled_exc_class():
                with anyio.CancelScope(shield=True):
                    await call.cancel()
                raise
            return call_result(await call.wait(), structured=self._structured)


class _Frames:
    """The progress of one call, for the client that waits for it."""

    def __init__(self) -> None:
        self._new, self._lines = anyio.create_memory_object_stream[str](float("inf"))
        self._first = anyio.Event()

    def add(self, frame: ToolResult) -> None:
        self._first.set()
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):  # nobody waits any more
            self._new.send_nowait(progress_line(frame))

    def close(self) -> None:
        self._new.close()
        self._lines.close()

    async def come_before_the_end(self, call: Call) -> bool:
        """Wait for the first frame; return False if the call is over before it, or has started no task by then."""
        async with anyio.create_task_group() as group:
            group.start_soon(_cancel_at_the_end, call, group.cancel_scope)
            await self._first.wait()
            group.cancel_scope.cancel()
        return call.result is None and bool(call.task_ids)

    async def sent(self, call: Call, context: Context) -> None:
        """Send each frame until the call is over. If the client closes its HTTP connection, cancel the call."""
        async with anyio.create_task_group() as watch:
            if context.request is not None and CLIENT_LEFT in context.request.scope:
                watch.start_soon(_cancel_after, context.request.scope[CLIENT_LEFT], call)
            async with anyio.create_task_group() as sender:
                sender.start_soon(self._send, context.session)
                await call.wait()
                self._new.close()
            watch.cancel_scope.cancel()

    async def _send(self, session: ServerSession) -> None:
        count = 0
        async for line in self._lines:
            count += 1
            await session.report_progress(count, message=line)


async def _cancel_at_the_end(call: Call, scope: anyio.CancelScope) -> None:
    await call.wait()
    scope.cancel()


async def _cancel_after(event: anyio.Event, call: Call) -> None:
    await event.wait()
    await call.cancel()
