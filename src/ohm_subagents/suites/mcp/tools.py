"""The tools of one MCP server, and the connections that they are called over."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Final

import anyio
from mcp import MCPError
from mcp_types import CONNECTION_CLOSED

from ohm_subagents.contract import Err, Ok
from ohm_subagents.suite import ErrorCode, OhmError, Tool, ToolResult
from ohm_subagents.suites.mcp.connection import Connection
from ohm_subagents.suites.mcp.results import MAX_CHARS, bounded, content_of
from ohm_subagents.suites.mcp.servers import plain, prefix_of
from ohm_subagents.views import call_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_types import Tool as ServerTool
    from pydantic import JsonValue

    from ohm_subagents.contract import Result, TaskId
    from ohm_subagents.redaction import Redaction
    from ohm_subagents.sandbox import Box
    from ohm_subagents.suite import SuiteContext, ToolCall, ToolNeed
    from ohm_subagents.suites.mcp.servers import Server

MAX_GIVEN: Final = 128
"""Tools of one server for one subagent: more, and model providers refuse the request."""
_MAX_NAME: Final = 64
_MAX_DESCRIPTION: Final = 8_000
_MAX_SCHEMA: Final = 64 * 1024
_UNDESCRIBED: Final = f"[The schema of its arguments has more than {_MAX_SCHEMA} characters and is left out.]"
_ANY_OBJECT: Final[Mapping[str, JsonValue]] = {"type": "object", "additionalProperties": True}


class ServerTools:
    """Offers the tools of a server; opens connections when they are needed, and again after a failure."""

    def __init__(self, server: Server, context: SuiteContext) -> None:
        self._server = server
        self._context = context
        self._connections: dict[tuple[TaskId | None, Box | None], Connection] = {}

    async def tools(self, need: ToolNeed) -> Result[tuple[Tool, ...], OhmError]:
        """Return the tools that the need gives, or why there are none."""
        connection = self._connection(need)
        try:
            listed = await connection.tools()
        except Exception as error:  # noqa: BLE001  a server may answer anything; it costs its own tools
            why = self._reason(connection, error)
            return Err(self._error(f"did not list its tools: {why}"))
        if isinstance(listed, Err):
            return listed
        names = {_name(self._server, one.name): one for one in reversed(listed.ok_value)}
        given = [(name, one) for name, one in reversed(names.items()) if need.gives(name)]
        if len(given) > MAX_GIVEN:
            fact = f"has {len(given)} tools that the profile names, more than {MAX_GIVEN}; name those that are needed"
            return Err(self._error(fact))
        return Ok(tuple(self._tool(name, one, need) for name, one in given))

    def close(self) -> None:
        """End all connections, in the background."""
        for connection in self._connections.values():
            connection.begin_close()
        self._connections.clear()

    def _connection(self, need: ToolNeed) -> Connection:
        """Return the connection for a task, a new one if the former cannot be used any more.

        One that is held in the sandbox of a task is for that task alone.
        """
        box = need.box if self._server.url is None else None
        is_own = self._server.for_each_task or box is not None
        key = (need.task_id if is_own else None, box)
        found = self._connections.get(key)
        if found is None or not found.is_usable:
            if found is not None:
                found.lost()
            if is_own and found is None:
                self._context.spawn(partial(self._close_with, need, key))
            found = self._connections[key] = Connection(self._server, box)
            self._context.spawn(found.hold)
        return found

    async def _close_with(self, need: ToolNeed, key: tuple[TaskId | None, Box | None]) -> None:
        await need.settled()
        connection = self._connections.pop(key, None)
        if connection is not None:
            connection.begin_close()

    def _tool(self, name: str, tool: ServerTool, need: ToolNeed) -> Tool:
        description = (tool.description or tool.title or tool.name)[:_MAX_DESCRIPTION]
        is_described = len(json.dumps(tool.input_schema)) <= _MAX_SCHEMA
        return Tool(
            name=name,
            label=f"{self._server.name}: {tool.name}",
            description=description if is_described else f"{description}\n\n{_UNDESCRIBED}",
            input_schema=tool.input_schema if is_described else _ANY_OBJECT,
            execute=partial(self._call, tool.name, need),
            call_view=partial(call_line, name),
            only_if_named=True,
            checks_arguments=True,
        )

    async def _call(self, tool: str, need: ToolNeed, call: ToolCall) -> ToolResult:
        connection = self._connection(need)
        opened = await connection.client()
        if isinstance(opened, Err):
            return _failed(opened.err_value)
        redaction = self._redaction()
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        late = self._error(f"did not answer '{tool}' within {self._server.call_s or 0:g} s")
        try:
            with anyio.move_on_after(self._server.call_s):
                progress = _Progress(call, redaction, self._context)
                result = await opened.ok_value.call_tool(tool, arguments, progress_callback=progress)
                text, images = content_of(result)
                return ToolResult(
                    text=bounded(redaction.text(text[: 2 * MAX_CHARS])),
                    details={"server": self._server.name},
                    is_error=result.is_error,
                    images=images,
                )
        except Exception as error:  # noqa: BLE001  as above; it costs this call
            why = self._reason(connection, error)
            return _failed(self._error(f"did not carry out '{tool}': {redaction.text(why)}"))
        return _failed(late)

    def _reason(self, connection: Connection, error: Exception) -> str:
        """Return why a request failed; the connection is given up unless the server has answered with an error."""
        if isinstance(error, MCPError) and error.code != CONNECTION_CLOSED and connection.is_usable:
            return f"{error}".rstrip(".")[:1000]
        if isinstance(error, MCPError | anyio.ClosedResourceError | anyio.BrokenResourceError):
            return connection.lost()
        return f"its answer cannot be understood ({type(error).__name__})"

    def _redaction(self) -> Redaction:
        """Return what takes the user's keys and those of the server out of texts; paths stay as they are."""
        known = self._context.redaction()
        return replace(known, homes=(), secrets=(*known.secrets, *self._server.secrets))

    def _error(self, fact: str) -> OhmError:
        return OhmError(code=ErrorCode.TOOL_FAILED, message=f"The MCP server '{self._server.name}' {fact}.")


class _Progress:
    """Passes on the progress of a call, no more often than other frames are."""

    def __init__(self, call: ToolCall, redaction: Redaction, context: SuiteContext) -> None:
        self._call = call
        self._redaction = redaction
        self._clock = context.clock
        self._throttle_ms = context.settings().onupdate_throttle_ms
        self._told_ms = 0

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        now_ms = self._clock()
        if self._call.on_update is not None and now_ms - self._told_ms >= self._throttle_ms:
            self._told_ms = now_ms
            text = message or (f"{progress:g}" if total is None else f"{progress:g} of {total:g}")
            self._call.on_update(ToolResult(text=self._redaction.text(text[:1000]), details={}))


def _name(server: Server, tool: str) -> str:
    """Return the name of a tool here: cut and marked where it is too long for model providers."""
    name = prefix_of(server.name) + plain(tool)
    return name if len(name) <= _MAX_NAME else f"{name[: _MAX_NAME - 9]}_{sha256(tool.encode()).hexdigest()[:8]}"


def _failed(error: OhmError) -> ToolResult:
    return ToolResult(text=error.message, details={}, is_error=True)
