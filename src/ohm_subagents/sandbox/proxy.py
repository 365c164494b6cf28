"""A proxy outside of a sandbox, by which commands in it reach the servers that are allowed, and nothing else."""

from __future__ import annotations

import os
import socket
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple, cast
from urllib.parse import urlsplit, urlunsplit

import anyio
from anyio.abc import SocketListener
from anyio.streams.buffered import BufferedByteReceiveStream

from ohm_subagents._concurrency.leavable_group import leavable_group

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from anyio.abc import ByteReceiveStream, SocketStream, UNIXSocketStream

    from ohm_subagents.sandbox.box import Box

_MOST_BYTES: Final = 64 * 1024
"""The length of a request without its content."""
_MOST_CONNECTIONS: Final = 256
_PATIENCE_S: Final = 30
"""Seconds for a request to come, and for a server to take the connection."""
_GONE: Final = (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)
_UNREAD: Final = (ValueError, anyio.DelimiterNotFound, anyio.IncompleteRead)
_REWRITTEN: Final = ("proxy-", "connection:", "keep-alive:", "host:")
"""The beginnings of headers that are for the proxy itself, or that it writes."""


@asynccontextmanager
async def proxied(box: Box) -> AsyncGenerator[Box]:
    """Hold a proxy for what is started in a box whose rules name servers. Raises OSError where that is impossible."""
    servers = box.rules.network
    if isinstance(servers, str) or box.proxy or box.mechanism != "bubblewrap":
        yield box
        return
    async with AsyncExitStack() as stack:
        place = Path(stack.enter_context(TemporaryDirectory(prefix="ohm-proxy-")), "socket")
        ports = await stack.enter_async_context(await anyio.create_unix_listener(place))
        group = await stack.enter_async_context(leavable_group())  # what is raised in it is raised as it is
        stack.callback(group.cancel_scope.cancel)
        group.start_soon(ports.serve, Proxy(servers).admit)
        yield replace(box, proxy=f"{place}")


class _Request(NamedTuple):
    host: str
    port: int
    head: bytes
    """The request as the server gets it; empty for a tunnel."""


class Proxy:
    """Takes ports of sandboxes, and carries what connects there to some servers: HTTP, and tunnels by CONNECT."""

    def __init__(self, servers: Sequence[str]) -> None:
        """Each server is `host:port`, or `*.host:port` for all names below a host."""
        self._servers = servers
        self._limit = anyio.Semaphore(_MOST_CONNECTIONS)

    async def admit(self, holder: SocketStream) -> None:
        """Serve the port that a command hands in, until the command, which holds the other end, has ended."""
        async with holder:
            listener = await _handed_in(cast("UNIXSocketStream", holder))
            if listener is None:
                return
            async with listener, anyio.create_task_group() as group:
                group.start_soon(listener.serve, self._carry)
                with suppress(*_GONE):
                    while True:
                        await holder.receive()
                group.cancel_scope.cancel()

    def allows(self, host: str, port: int) -> bool:
        """Return True for a server that may be reached."""
        patterns = (one.rpartition(":") for one in self._servers)
        return any(int(number) == port and _is_named(pattern.strip("[]"), host) for pattern, _, number in patterns)

    async def _carry(self, client: SocketStream) -> None:
        async with client, self._limit:
            try:
                await self._carried(client)
            except (*_GONE, TimeoutError):
                return

    async def _carried(self, client: SocketStream) -> None:
        with anyio.fail_after(_PATIENCE_S):
            incoming = BufferedByteReceiveStream(client)
            try:
                asked = _read(await incoming.receive_until(b"\r\n\r\n", _MOST_BYTES))
            except _UNREAD:
                await client.send(_refusal(400, "This proxy takes CONNECT, and requests of http:// addresses."))
                return
            if not self.allows(asked.host, asked.port):
                told = f"'{asked.host}:{asked.port}' is not among the servers of sandboxRules.network."
                await client.send(_refusal(403, told))
                return
            try:
                server = await anyio.connect_tcp(asked.host, asked.port)
            except (OSError, ValueError) as error:
                await client.send(_refusal(502, f"'{asked.host}:{asked.port}' cannot be reached: {error}."))
                return
        async with server, anyio.create_task_group() as group:
            await (server.send(asked.head) if asked.head else client.send(b"HTTP/1.1 200 Connected\r\n\r\n"))
            group.start_soon(_pass_on, incoming, server)
            await _pass_on(server, client)
            group.cancel_scope.cancel()


async def _handed_in(holder: UNIXSocketStream) -> SocketListener | None:
    """Return the port that is handed in; None for anything else."""
    try:
        with anyio.fail_after(_PATIENCE_S):
            _, (descriptor,) = await holder.receive_fds(1, 1)
    except (*_GONE, ValueError, TimeoutError):
        return None
    try:
        port = socket.socket(fileno=descriptor)
    except OSError:
        os.close(descriptor)
        return None
    if port.family == socket.AF_INET and port.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        return await SocketListener.from_socket(port)
    port.close()
    return None


async def _pass_on(source: ByteReceiveStream, sink: SocketStream) -> None:
    try:
        async for chunk in source:
            await sink.send(chunk)
        await sink.send_eof()
    except _GONE:
        return


def _is_named(pattern: str, host: str) -> bool:
    return host == pattern or (pattern.startswith("*.") and host.endswith(pattern[1:]))


def _read(head: bytes) -> _Request:
    """Read a request without its content. Raises ValueError."""
    line, *headers = head.decode("latin-1").split("\r\n")
    method, target, version = line.split(" ")
    is_tunnel = method == "CONNECT"
    parts = urlsplit(f"//{target}" if is_tunnel else target)
    host, port = (parts.hostname or "").rstrip("."), parts.port or (None if is_tunnel else 80)
    if not host or port is None or parts.scheme != ("" if is_tunnel else "http"):
        raise ValueError(target)
    if is_tunnel:
        return _Request(host, port, b"")
    path = urlunsplit(("", "", parts.path or "/", parts.query, ""))
    address = parts.netloc.rpartition("@")[2]
    kept = [one for one in headers if not one.lower().startswith(_REWRITTEN)]
    lines = (f"{method} {path} {version}", f"Host: {address}", *kept, "Connection: close", "", "")
    return _Request(host, port, "\r\n".join(lines).encode("latin-1"))


def _refusal(status: int, told: str) -> bytes:
    return f"HTTP/1.1 {status} Refused\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n{told}\n".encode()
