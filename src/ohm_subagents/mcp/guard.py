"""Checks of each HTTP request before the MCP library reads it: token, origin, host and size."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

import anyio
from pydantic_core import from_json

from ohm_subagents.commands import MAX_MESSAGE_BYTES, message_too_long, request_id_in_use
from ohm_subagents.mcp.options import CLIENT_LEFT, PATH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pydantic import JsonValue
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LOCAL_HOSTS: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_INVALID_REQUEST: Final = -32600
UNKNOWN_CLIENT: Final = "The token is missing or wrong. Send the header 'Authorization: Bearer <token>'."


class Guard:
    """Lets a request through that has a token, no foreign origin, a body of bounded size and an id of its own."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        admits: Callable[[bytes], bool],
        origins: Iterable[str] = (),
        is_local: bool = True,
        refusal: str = UNKNOWN_CLIENT,
    ) -> None:
        """Guard an app.

        `admits` says if the value of the header Authorization is right, and `refusal` is told to who has another.
        `origins`: web pages that may ask, besides local ones. `is_local`: only this machine can connect.
        """
        self._app = app
        self._admits = admits
        self._wrong_token = refusal
        self._origins = frozenset(origins)
        self._is_local = is_local
        self._in_use: set[tuple[str, str]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it with one sentence."""
        if scope["type"] != "http":
            return
        headers = dict(scope["headers"])
        refusal = self._refusal(scope["path"], headers)
        if refusal is not None:
            await _refuse(send, *refusal)
            return
        body, size = await _body(receive)
        if size > MAX_MESSAGE_BYTES:
            await _refuse(send, 413, message_too_long(size))
            return
        request_id = _id_of(body) if b"mcp-session-id" in headers and scope["method"] == "POST" else None
        key = None if request_id is None else (headers[b"mcp-session-id"].decode("latin-1"), f"{request_id}")
        if key in self._in_use:
            await _refuse(send, 400, request_id_in_use(request_id), request_id=request_id)
            return
        if key is not None:
            self._in_use.add(key)
        try:
            left = anyio.Event()
            async with anyio.create_task_group() as watch:
                watch.start_soon(_wait_for_its_end, receive, left)
                await self._app({**scope, CLIENT_LEFT: left}, _Rest(body, left), send)
                watch.cancel_scope.cancel()
        finally:
            if key is not None:
                self._in_use.discard(key)

    def _refusal(self, path: str, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        host, origin = headers.get(b"host", b"").decode("latin-1"), headers.get(b"origin", b"").decode("latin-1")
        if self._is_local and _hostname(f"//{host}") not in _LOCAL_HOSTS:
            return 421, f"The host {host!r:.80} is not this machine. Connect to 127.0.0.1."
        if origin and _hostname(origin) not in _LOCAL_HOSTS and origin not in self._origins:
            return 403, f"The origin {origin!r:.80} may not connect. Allow it with --origin."
        if not self._admits(headers.get(b"authorization", b"")):
            return 401, self._wrong_token
        if path != PATH:
            return 404, f"There is nothing at {path!r:.80}. Connect to {PATH}."
        return None


class _Rest:
    """The `receive` of a request whose body has been read."""

    def __init__(self, body: bytes, left: anyio.Event) -> None:
        self._body: bytes | None = body
        self._left = left

    async def __call__(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}


async def _wait_for_its_end(receive: Receive, left: anyio.Event) -> None:
    """Set the event when the client has closed the connection, or has its answer."""
    while (await receive())["type"] != "http.disconnect":
        pass
    left.set()


async def _body(receive: Receive) -> tuple[bytes, int]:
    """Read the whole body and return it with its size. One that is too long is read too, or the answer is lost."""
    body, size = bytearray(), 0
    while True:
        message = await receive()
        part: bytes = message.get("body", b"")
        size += len(part)
        if size <= MAX_MESSAGE_BYTES:
            body += part
        if not message.get("more_body", False):
            return bytes(body), size


def _id_of(body: bytes) -> int | str | None:
    with suppress(ValueError):
        message: JsonValue = from_json(body)
        if isinstance(message, dict) and "method" in message:
            request_id = message.get("id")
            return request_id if isinstance(request_id, int | str) else None
    return None


def _hostname(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


async def _refuse(send: Send, status: int, sentence: str, *, request_id: int | str | None = None) -> None:
    error = {"code": _INVALID_REQUEST, "message": sentence}
    body = json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", f"{len(body)}".encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
