"""One connection of a `ModelServer`: HTTP/1.1 and server-sent events by hand, so that a script can break them."""

from __future__ import annotations

import json
import select
import socket
import struct
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

from model_script import Body, Call, Drop, Gate, Reply, Request, Say, Stall, Status, Step, Think, Wire

if TYPE_CHECKING:
    from collections.abc import Iterator

    from model_server import ModelServer


class Connection(BaseHTTPRequestHandler):
    """One connection, kept alive over many requests."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def __init__(self, connection: socket.socket, owner: ModelServer) -> None:
        self._owner = owner
        super().__init__(connection, ("127.0.0.1", 0), owner)  # type: ignore[arg-type]  # it only stores the owner

    def log_message(self, format: str, *args: object) -> None:
        """Be quiet."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(path=self.path, headers=headers, body=json.loads(raw))
        self._model = request.body["model"]
        reply = self._owner.next_reply(request)
        if isinstance(reply, Say) and reply.model is not None:
            self._model = reply.model
        try:
            self._reply(reply)
        except ConnectionError:
            self.close_connection = True
            self._owner.count_abort()

    def _reply(self, reply: Reply) -> None:
        match reply:
            case Say():
                self._stream(reply)
            case Status():
                self._answer(reply.code, reply.payload(), "application/json", reply.headers)
            case Body():
                self._answer(200, reply.data, reply.content_type, reply.headers)
            case Stall():
                self._hold(None)
            case Drop():
                self._reset()

    def _answer(self, code: int, data: bytes, content_type: str, headers: tuple[tuple[str, str], ...]) -> None:
        self.send_response(code)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, reply: Say) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self._delta({"role": "assistant", "content": ""})
        for index, step in enumerate(reply.steps):
            if not self._step(step, index):
                return
        self._end(reply)

    def _step(self, step: Step, index: int) -> bool:
        """Carry out one step; False when the stream is over."""
        match step:
            case str():
                self._delta({"content": step})
            case Think():
                self._delta({"reasoning_content": step.text})
            case Call():
                for delta in _call_deltas(step, index, len(self._owner.requests)):
                    self._delta(delta)
            case Wire():
                self._wire(step)
            case Gate():
                step._reached.set()
                return self._hold(step._out)
            case Stall():
                return self._hold(None)
            case Drop():
                self._reset()
                return False
        return True

    def _end(self, reply: Say) -> None:
        self._delta({}, reply.finish)
        if (tokens := reply.tokens) is not None:
            usage = {
                "prompt_tokens": tokens.prompt,
                "completion_tokens": tokens.completion,
                "total_tokens": tokens.prompt + tokens.completion,
                "prompt_tokens_details": {"cached_tokens": tokens.cached},
            }
            self._event({"choices": [], "usage": usage})
        self._write(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _delta(self, delta: dict[str, Any], finish: str | None = None) -> None:
        self._event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def _event(self, payload: dict[str, Any]) -> None:
        chunk = {**_CHUNK, "model": self._model, **payload}
        self._write(b"data: " + json.dumps(chunk).encode() + b"\n\n")

    def _wire(self, step: Wire) -> None:
        self._write(step.data)
        while step.endless:
            self._write(step.data)

    def _write(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def _hold(self, gate: socket.socket | None) -> bool:
        """Wait for the gate. False, with the abort counted, when the client goes away first or the server closes."""
        waits = [self.connection, self._owner.closing, *([] if gate is None else [gate])]
        ready, _, _ = select.select(waits, [], [])
        if gate in ready:
            return True
        self.close_connection = True
        self._owner.count_abort()
        return False

    def _reset(self) -> None:
        self.close_connection = True
        self.wfile = _Nowhere()  # type: ignore[assignment]  # the base class flushes it once more
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.rfile.close()


class _Nowhere:
    closed = False

    def flush(self) -> None: ...

    def close(self) -> None: ...


_CHUNK = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000}


def _call_deltas(call: Call, index: int, turn: int) -> Iterator[dict[str, Any]]:
    text = json.dumps(call.args) if call.raw is None else call.raw
    function = {"name": call.name, "arguments": ""}
    name = call.id or f"call_{turn}_{index}"
    yield {"tool_calls": [{"index": index, "id": name, "type": "function", "function": function}]}
    half = len(text) // 2
    for piece in (text[:half], text[half:]):
        yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
