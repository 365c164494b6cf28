"""An HTTP server on one socket, as long as a task lasts."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import anyio
import uvicorn

if TYPE_CHECKING:
    from collections.abc import Generator

    from starlette.types import ASGIApp

_GRACE_S: Final = 1


def listener_at(host: str, port: int) -> socket.socket:
    """Return a socket that listens there; port 0 is any free one. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, port), family=family, backlog=2048)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or each answer waits 40 ms; connections inherit it
    return listener


async def serve_app(app: ASGIApp, listener: socket.socket) -> None:
    """Serve until this is cancelled; then take no more requests, and end those that go on after a moment."""
    listening = _Listening(
        uvicorn.Config(app, lifespan="off", log_config=None, access_log=False, timeout_graceful_shutdown=_GRACE_S)
    )

    async def end_with_it() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            listening.should_exit = True

    async with anyio.create_task_group() as group:
        group.start_soon(end_with_it)
        with anyio.CancelScope(shield=True):
            await listening.serve(sockets=[listener])
        group.cancel_scope.cancel()


class _Listening(uvicorn.Server):
    """An HTTP server that leaves signals to whoever runs it."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield
