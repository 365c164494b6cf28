"""A connection to an MCP server, held open by a task of its own."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final, cast

import anyio
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation, Tool, ToolListChangedNotification
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ohm_subagents.contract import Err, Ok
from ohm_subagents.plugin import SharedResource
from ohm_subagents.shell import Launch, Supervisor
from ohm_subagents.suite import ErrorCode, OhmError
from ohm_subagents.suites.mcp.http import http_client
from ohm_subagents.suites.mcp.stdio import MAX_MESSAGE, streams_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager

    from mcp.client import Transport
    from mcp.client.session import IncomingMessage

    from ohm_subagents.contract import Result
    from ohm_subagents.sandbox import Box
    from ohm_subagents.shell import Child
    from ohm_subagents.suites.mcp.servers import Server

logger = logging.getLogger(__name__)
MAX_LISTED: Final = 10_000
_GRACE_S: Final = 2.0
_SHOWN: Final = 300


class Connection(SharedResource[Client]):
    """A client of one server. `fault` says why it is of no use any more; empty while it is."""

    def __init__(self, server: Server, box: Box | None = None) -> None:
        """`box` is the sandbox of the run that it is for, if it is for one."""
        super().__init__()
        self.fault = ""
        self._server = server
        self._box = box
        self._child: Child | None = None
        self._listed: tuple[Tool, ...] | None = None
        self._listing = anyio.Lock()
        self._over = anyio.Event()

    async def hold(self) -> None:
        """Open it, and close it when it is given up or the task that runs this is cancelled."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._served)
            try:
                await self._over.wait()
            finally:
                self.begin_close()

    async def _served(self) -> None:
        try:
            await self.serve()
        finally:
            self._over.set()

    @property
    def is_usable(self) -> bool:
        """It is open or being opened, as far as is known."""
        has_ended = self._child is not None and self._child.has_ended
        return not (
            self.fault or has_ended or isinstance(self.opened, Err) or (self.ready.is_set() and not self.is_open)
        )

    async def client(self) -> Result[Client, OhmError]:
        """Wait until it is open."""
        await self.ready.wait()
        return self.opened or Err(self.late())

    async def tools(self) -> Result[tuple[Tool, ...], OhmError]:
        """Return the tools of the server; the list is kept until the server says that it has changed."""
        opened = await self.client()
        if isinstance(opened, Err):
            return opened
        client = opened.ok_value
        async with self._listing:
            listed = self._listed
            if listed is None:
                with anyio.move_on_after(self._server.start_s) as waiting:
                    self._listed = listed = await _list_tools(client)
                if waiting.cancelled_caught or listed is None:
                    return Err(self._error(f"did not list its tools within {self._server.start_s:g} s"))
            if client.protocol_version in MODERN_PROTOCOL_VERSIONS:
                self._listed = None  # `Client` keeps it for as long as the server allows
            return Ok(listed)

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[Result[Client, OhmError]]:
        waiting = anyio.CancelScope(deadline=anyio.current_time() + self._server.start_s)
        async with AsyncExitStack() as after:
            if self._server.url is None:
                supervisor = await after.enter_async_context(Supervisor.open(grace_s=_GRACE_S))
                started = await supervisor.start(self._launch())
                if isinstance(started, Err):
                    yield Err(self._error(f"cannot be started: {started.err_value.message.rstrip('.')}"))
                    return
                self._child = started.ok_value
                after.callback(self._child.stop)
                transport: Transport = streams_of(self._child, self._give_up)
            else:
                http = await after.enter_async_context(http_client(self._server.headers, self._give_up))
                transport = streamable_http_client(self._server.url, http_client=http, max_sse_event_size=MAX_MESSAGE)
            us = Implementation(name="ohm-subagents", version="1")
            try:
                with waiting:
                    async with Client(transport, client_info=us, message_handler=self._on_message) as client:
                        waiting.deadline = float("inf")
                        yield Ok(client)
                        return
            except Exception:
                await self._explain()
                raise
            if waiting.cancelled_caught:
                yield Err(self._error(f"did not answer within {self._server.start_s:g} s of its start"))

    def _launch(self) -> Launch:
        server = self._server
        cwd, box = (server.cwd, None) if self._box is None else server.held_in(self._box)
        return Launch(command=server.command, cwd=cwd, env=server.env, box=box)

    async def _explain(self) -> None:
        """Find the reason why a process cannot be talked to: its end, and its last words."""
        if self._child is not None and not self.fault:
            ended = await self._child.ended(within_s=_GRACE_S)
            last = ended.stderr.strip().rpartition("\n")[2].rstrip(".")
            self.fault = f"its process {'was stopped' if ended.was_stopped else f'ended with code {ended.code}'}"
            self.fault += f": {last}" if last else ""

    def open(self) -> AbstractAsyncContextManager[Result[Client, OhmError]]:
        """Start the server, or find it, and shake hands."""
        return self._opened()

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._listed = None
        await anyio.lowlevel.checkpoint()

    def _give_up(self, why: str) -> None:
        self.fault = why
        self.begin_close()

    def lost(self) -> str:
        """Notice that the connection is gone; return the reason, as far as it is known."""
        self._give_up(self.fault or "it ended the connection")
        return self.fault

    def failed(self, error: Exception) -> OhmError:
        """Return the error of a server that cannot be used."""
        logger.debug("The MCP server %s failed.", self._server.name, exc_info=error)
        self.fault = self.fault or _first(error)
        return self._error(f"cannot be used: {self.fault}")

    def late(self) -> OhmError:
        """Return the error of a server that is not ready in time."""
        return self._error(f"cannot be used: {self.fault}" if self.fault else "was not ready in time")

    def _error(self, fact: str) -> OhmError:
        return OhmError(code=ErrorCode.TOOL_FAILED, message=f"The MCP server '{self._server.name}' {fact:.{_SHOWN}}.")


async def _list_tools(client: Client) -> tuple[Tool, ...]:
    """Return the tools of all pages, up to `MAX_LISTED`."""
    found: list[Tool] = []
    cursor: str | None = None
    while True:
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        if not page.next_cursor or page.next_cursor == cursor or not page.tools or len(found) >= MAX_LISTED:
            return tuple(found[:MAX_LISTED])
        cursor = page.next_cursor


def _first(error: BaseException) -> str:
    """Return one line about an exception, or the first one of a group."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    line = f"{error}".strip().split("\n", 1)[0].rstrip(".")
    return line or type(error).__name__
