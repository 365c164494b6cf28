"""A scripted OpenAI-compatible model server on 127.0.0.1: real sockets, real HTTP, one reply a request.

    with ModelServer(Say("Hello ", "world.")) as server:
        ...point a provider at server.url...
    assert server.requests[0].prompt == "hi"

Replies are served in order; pass one function `(Request) -> Reply` instead to choose by what was asked, for runs in
parallel. It runs in threads, so a synchronous test, an event loop and a child process can all use it. Nothing here
sleeps or polls: a `Gate` holds a stream until the test opens it, and `wait` blocks until the server has seen something.
"""

from __future__ import annotations

import select
import socket
import threading
import time
from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Self

import anyio.to_thread
from model_connection import Connection
from model_script import (
    PATIENCE_S,
    Body,
    Call,
    Drop,
    Gate,
    Reply,
    Request,
    Say,
    Script,
    Stall,
    Status,
    Think,
    Tokens,
    Wire,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

__all__ = [
    "Body",
    "Call",
    "Drop",
    "Gate",
    "ModelServer",
    "Reply",
    "Request",
    "Say",
    "Stall",
    "Status",
    "Think",
    "Tokens",
    "Wire",
]

IDLE_S = 5
"""Seconds for which an HTTP client keeps an idle connection, by the default of httpx."""


class ModelServer:
    """Serves chat completions on a free port. Use it as `with` or `async with`; it may also be closed and asked later.

    `requests`: everything that was asked. `connections`: how many sockets were ever accepted. `aborts`: how many
    clients went away before their answer was complete. A request beyond the script gets a 400 that says so and is
    counted in `surplus`.
    """

    def __init__(self, *replies: Reply | Script) -> None:
        self._script = next((reply for reply in replies if callable(reply)), None)
        assert self._script is None or len(replies) == 1, "one function, or replies in order"
        self._replies = deque(reply for reply in replies if not callable(reply))
        self.requests: list[Request] = []
        self.connections = 0
        self._opened_s = time.monotonic()
        self.aborts = 0
        self.surplus = 0
        self._changed = threading.Condition()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self.closing, self._closer = socket.socketpair()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    @property
    def url(self) -> str:
        """The base URL of a provider."""
        return f"{self.origin}/v1"

    def most_connections(self, at_once: int) -> int:
        """Return the most connections that a client may have opened, which closes those that were idle for `IDLE_S`."""
        return at_once * (1 + int((time.monotonic() - self._opened_s) / IDLE_S))

    @property
    def open_connections(self) -> int:
        with self._changed:
            return len(self._open)

    @property
    def left(self) -> int:
        """Return how many replies nobody asked for."""
        return len(self._replies)

    def wait(self, seen: Callable[[ModelServer], bool]) -> None:
        """Block until the server has seen what `seen` asks for, such as `lambda server: server.aborts == 1`."""
        with self._changed:
            assert self._changed.wait_for(lambda: seen(self), PATIENCE_S), "the server never saw it"

    async def until(self, seen: Callable[[ModelServer], bool]) -> None:
        """`wait`, for an event loop."""
        await anyio.to_thread.run_sync(self.wait, seen)

    def __enter__(self) -> Self:
        self._spawn(self._accept)
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._closer.send(b"c")
        with suppress(OSError):
            socket.create_connection(self._listener.getsockname()).close()  # wakes accept()
        with self._changed:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENCE_S)
        for end in (self._listener, self.closing, self._closer):
            end.close()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(partial(self.__exit__, exc_type, exc, traceback))

    def _spawn(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            if self._is_closing():
                connection.close()
                return
            with self._changed:
                self.connections += 1
                self._open.add(connection)
                self._changed.notify_all()
            self._spawn(partial(self._serve, connection))

    def _is_closing(self) -> bool:
        return bool(select.select([self.closing], [], [], 0)[0])

    def _serve(self, connection: socket.socket) -> None:
        try:
            with suppress(ConnectionError):  # an idle client that hangs up
                Connection(connection, self)
        finally:
            with self._changed:
                self._open.discard(connection)
                self._changed.notify_all()
            connection.close()

    def count_abort(self) -> None:
        if not self._is_closing():
            with self._changed:
                self.aborts += 1
                self._changed.notify_all()

    def next_reply(self, request: Request) -> Reply:
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
            if self._script is None:
                if not self._replies:
                    self.surplus += 1
                    return Status(400, "the script of the model server has no more replies")
                return self._replies.popleft()
        return self._script(request)
