"""The messages of one client over a wire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import from_json

from ohm_subagents.commands import TooLong, message_too_long, request_id_in_use

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from anyio.streams.memory import MemoryObjectSendStream
    from mcp.server import Server

    from ohm_subagents.commands import Wire
    from ohm_subagents.mcp.greeting import Greeting


class _OwnError(JSONRPCError):
    """A refusal of ours: the request with its id, if there is one, goes on."""


class Connection:
    """Gives a server the messages of a client, and the client the answers; refuses what is no message itself."""

    def __init__(self, wire: Wire, *, answered: Greeting | None) -> None:
        """`answered`: the answer that the client has to its first request; that of the server is left out."""
        self._wire = wire
        self._answered = answered
        self._in_use: set[int | str] = set()

    async def serve(self, server: Server[Any], first: bytes | TooLong, lines: AsyncIterator[bytes | TooLong]) -> None:
        """Serve until the client closes the wire."""
        to_server, requests = anyio.create_memory_object_stream[SessionMessage | Exception]()
        to_client, answers = anyio.create_memory_object_stream[SessionMessage]()

        async def read(refusals: MemoryObjectSendStream[SessionMessage]) -> None:
            async with to_server, refusals:
                await self._read(first, to_server, refusals)
                async for line in lines:
                    await self._read(line, to_server, refusals)

        async def write(scope: anyio.CancelScope) -> None:
            try:
                async with answers:
                    async for message in answers:
                        await self._write(message)
            except OSError:  # the client has closed its end
                scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(read, to_client.clone())
            group.start_soon(write, group.cancel_scope)
            await server.run(requests, to_client, server.create_initialization_options())

    async def _read(
        self,
        line: bytes | TooLong,
        server: MemoryObjectSendStream[SessionMessage | Exception],
        refusals: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        message = self._message(line)
        await (refusals if isinstance(message, _OwnError) else server).send(SessionMessage(message))

    def _message(self, line: bytes | TooLong) -> JSONRPCRequest | JSONRPCNotification | JSONRPCResponse | JSONRPCError:
        """Return the message of a line, or the error that refuses it."""
        if isinstance(line, TooLong):
            return _refused(line.request_id, INVALID_REQUEST, message_too_long(line.size))
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError as error:
            why = error.errors(include_url=False, include_input=False)[0]["msg"]
            return _refused(None, PARSE_ERROR, f"A line is no JSON-RPC message: {why}.")
        if isinstance(message, JSONRPCNotification) and _has_id(line):
            return _refused(None, INVALID_REQUEST, "The id of a request is no text and no whole number.")
        if isinstance(message, JSONRPCRequest):
            if message.id in self._in_use:
                return _refused(message.id, INVALID_REQUEST, request_id_in_use(message.id))
            self._in_use.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._in_use.discard((message.params or {}).get("requestId", ""))
        return message

    async def _write(self, message: SessionMessage) -> None:
        sent = message.message
        if isinstance(sent, JSONRPCResponse | JSONRPCError) and not isinstance(sent, _OwnError) and sent.id is not None:
            self._in_use.discard(sent.id)
            if self._answered is not None and sent.id == self._answered.request_id:
                self._answered = None
                return
        await self._wire.write(sent.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")


def _has_id(line: bytes) -> bool:
    return b'"id"' in line and "id" in from_json(line)


def _refused(request_id: int | str | None, code: int, message: str) -> _OwnError:
    return _OwnError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=message))
