"""The answers of a `ModelServer`: the words of its scripts."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anyio.to_thread

PATIENCE_S = 60
"""The time for which a wait for the other side may block before it calls the test failed."""


class Gate:
    """Holds a stream at one place until `open()`. `wait_reached()` returns once the stream is there."""

    def __init__(self) -> None:
        self._out, self._in = socket.socketpair()
        self._reached = threading.Event()

    def open(self) -> None:
        """Let every stream that waits here, now or later, go on."""
        self._in.send(b"o")

    def wait_reached(self) -> None:
        assert self._reached.wait(PATIENCE_S), "no stream reached the gate"

    async def reached(self) -> None:
        await anyio.to_thread.run_sync(self.wait_reached)

    def close(self) -> None:
        self._out.close()
        self._in.close()

    def __del__(self) -> None:
        self.close()


@dataclass(frozen=True)
class Think:
    """The next piece of reasoning (`reasoning_content`)."""

    text: str


@dataclass(frozen=True)
class Call:
    """A tool call; its arguments are streamed in two pieces. `raw` replaces the JSON text of the arguments."""

    name: str
    args: dict[str, Any] = field(default_factory=dict[str, Any])
    id: str = ""
    raw: str | None = None


@dataclass(frozen=True)
class Wire:
    """Bytes put on the stream as they are, to break it; `endless` ones until the client goes away."""

    data: bytes
    endless: bool = False


class Stall:
    """Say nothing more, until the client goes away or the server closes."""


class Drop:
    """Reset the connection."""


@dataclass(frozen=True)
class Tokens:
    """The usage chunk at the end of a stream."""

    prompt: int = 100
    completion: int = 20
    cached: int = 40


Step = str | Think | Call | Wire | Gate | Stall | Drop


class Say:
    """A streamed answer: pieces of text, thinking, tool calls, gates and breakages, then usage and `[DONE]`."""

    def __init__(
        self, *steps: Step, tokens: Tokens | None = Tokens(), finish: str | None = None, model: str | None = None
    ) -> None:
        """`model` is what the server says that it is; by default the model that was asked for."""
        self.model = model
        self.steps = steps
        self.tokens = tokens
        calls = any(isinstance(step, Call) for step in steps)
        self.finish = finish or ("tool_calls" if calls else "stop")


@dataclass(frozen=True)
class Status:
    """An HTTP error with a JSON body in OpenAI's form, or `body` as it is."""

    code: int
    message: str = "the server said so"
    error_code: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None

    def payload(self) -> bytes:
        error = {"message": self.message, "type": self.error_code or "error", "code": self.error_code}
        return json.dumps({"error": error}).encode() if self.body is None else self.body


@dataclass(frozen=True)
class Body:
    """200 with any body, for example a page of HTML or nothing at all."""

    data: bytes = b""
    content_type: str = "text/event-stream"
    headers: tuple[tuple[str, str], ...] = ()


Reply = Say | Status | Body | Stall | Drop


@dataclass(frozen=True)
class Request:
    """A request of a client. Header names are lower-case."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return self.body["messages"]

    @property
    def prompt(self) -> str:
        """The newest user text."""
        return next(text_of(message) for message in reversed(self.messages) if message["role"] == "user")

    @property
    def tool_results(self) -> list[str]:
        return [text_of(message) for message in self.messages if message["role"] == "tool"]

    @property
    def tool_names(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.body.get("tools", [])]


def text_of(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


Script = Callable[[Request], Reply]
