"""The MCP server of a bridge: each request is for the run whose token it has. Imports `mcp`, so import it late."""

from __future__ import annotations

from base64 import b64encode
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ImageContent, ListToolsResult, TextContent
from mcp_types.jsonrpc import INVALID_PARAMS, INVALID_REQUEST

from ohm_subagents.commands import (
    MAX_MESSAGE_BYTES,
    listener_at,
    serve_app,
)
from ohm_subagents.mcp.guard import Guard
from ohm_subagents.mcp.options import CLIENT_LEFT, NAME, PATH
from ohm_subagents.mcp.results import tool_entry

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping
    from typing import Self

    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, PaginatedRequestParams

    from ohm_subagents.mcp.offer import Offer

    Context = ServerRequestContext[Any, Any]

_HOST: Final = "127.0.0.1"
_NO_RUN: Final = "The token is of no run that goes on: it is wrong, or its run has ended."


class BridgeServer:
    """Serves the tools of all runs of a backend."""

    def __init__(self, offers: Mapping[str, Offer], port: int) -> None:
        """`offers`: the tools of each run that goes on, by its token."""
        self.url = f"http://{_HOST}:{port}{PATH}"
        self._offers = offers

    @classmethod
    @asynccontextmanager
    async def open(cls, offers: Mapping[str, Offer]) -> AsyncGenerator[Self]:
        """Listen at a free port until this is left."""
        with listener_at(_HOST, 0) as listener:
            bridge = cls(offers, listener.getsockname()[1])
            server: Server[Any] = Server(
                NAME, version=version("ohm-subagents"), on_list_tools=bridge.list_tools, on_call_tool=bridge.call_tool
            )
            server.middleware.clear()  # it traces calls, of which the trace of the task has a span each
            sessions = StreamableHTTPSessionManager(
                server, json_response=True, stateless=True, max_request_body_size=MAX_MESSAGE_BYTES
            )
            guard = Guard(sessions.handle_request, admits=bridge.admits, refusal=_NO_RUN)
            async with sessions.run(), anyio.create_task_group() as group:
                group.start_soon(serve_app, guard, listener)
                yield bridge
                group.cancel_scope.cancel()

    def admits(self, authorization: bytes) -> bool:
        """Return True for the header of a run that goes on."""
        return _token(authorization.decode("latin-1")) in self._offers

    async def list_tools(self, context: Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        """List the tools of the run."""
        offer = self._offer(context)
        offer.listed.set()
        entries = [(name, tool_entry(tool, structured=False)) for name, tool in offer.tools.items()]
        return ListToolsResult(tools=[entry.model_copy(update={"name": name}) for name, entry in entries])

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        """Carry out a call in its run."""
        offer = self._offer(context)
        tool = offer.tools.get(params.name)
        if tool is None:
            known = ", ".join(offer.tools)
            raise MCPError(code=INVALID_PARAMS, message=f"There is no tool {params.name!r:.80}; there are: {known}.")
        left = context.request.scope[CLIENT_LEFT] if context.request is not None else anyio.Event()
        result = await offer.call(tool, params.arguments or {}, left)
        images = [
            ImageContent(type="image", data=b64encode(one.data).decode(), mime_type=one.media_type)
            for one in result.images
        ]
        return CallToolResult(content=[TextContent(type="text", text=result.text), *images], is_error=result.is_error)

    def _offer(self, context: Context) -> Offer:
        header = "" if context.request is None else context.request.headers.get("authorization", "")
        offer = self._offers.get(_token(header))
        if offer is None:  # it has ended since the request came
            raise MCPError(code=INVALID_REQUEST, message=_NO_RUN)
        return offer


def _token(authorization: str) -> str:
    return authorization.removeprefix("Bearer ")
