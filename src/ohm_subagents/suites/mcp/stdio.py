"""The messages of a server that runs as a supervised process, as the streams that the package `mcp` talks over."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from ohm_subagents.shell import Child

    Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

MAX_MESSAGE: Final = 8 * 1024 * 1024
TOO_LONG: Final = f"it sent a message of more than {MAX_MESSAGE // 1024**2} MiB"
_MOST_NOISE: Final = 1000


@asynccontextmanager
async def streams_of(child: Child, on_fault: Callable[[str], None]) -> AsyncGenerator[Streams]:
    """Read and write messages, a line each; `on_fault` is called with the reason before a flood ends the stream."""
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        noise = 0
        async with to_client:
            async for line in child.lines():
                if len(line) > MAX_MESSAGE:
                    on_fault(TOO_LONG)
                    return
                try:
                    message = jsonrpc_message_adapter.validate_json(line, by_name=False)
                except ValueError:
                    noise += bool(line.strip())
                    if noise > _MOST_NOISE:
                        on_fault(f"it wrote more than {_MOST_NOISE} lines that are no messages")
                        return
                    continue
                try:
                    await to_client.send(SessionMessage(message))
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return

    async def write() -> None:
        async with from_client:
            async for message in from_client:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await child.write(f"{text}\n".encode())

    async with anyio.create_task_group() as group, from_server, to_server:
        group.start_soon(read)
        group.start_soon(write)
        yield from_server, to_server
        group.cancel_scope.cancel()
