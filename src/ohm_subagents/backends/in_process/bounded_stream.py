"""Bounds on what a model server sends: it is read in small pieces, and the event loop runs between them.

The readers of an answer (the SDK, pydantic-ai) work on a line of it without a pause. How long a line is, how much a
compressed body unfolds to and how many values a line of JSON has are otherwise for the server to choose.
"""

from __future__ import annotations

import re
import sys
import zlib
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol, Self, TypeVar, cast

from anyio.lowlevel import checkpoint

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Iterator, MutableMapping

MAX_LINE_CHARS: Final = 512 * 1024
"""Of a line of an answer. The last one of some protocols repeats the whole answer."""
MAX_LINE_BYTES: Final = 4 * MAX_LINE_CHARS
"""Of the same with characters escaped, as `\\u0041` is."""
MAX_BODY_BYTES: Final = 512 * 1024
"""Of an answer that is no stream."""
MAX_BYTES: Final = 64 * 1024 * 1024
"""Of a streamed answer, unfolded: a hundred thousand events with everything around a token."""
MAX_ERROR_BYTES: Final = 64 * 1024
"""Of what a refusal says; what is more is not read."""
MAX_ANSWER_CHARS: Final = 400_000
"""Of what a model says in one turn: text, thinking, and arguments of its calls."""
MAX_VALUES: Final = 4000
"""Of a long line of JSON: lists, objects and what they hold, in the text of no answer."""
MAX_JOINERS: Final = 128
"""Of a long line: invisible characters behind a bracket, which pydantic-ai looks at one by one."""
ProviderT = TypeVar("ProviderT")
_PIECE: Final = 4096
_END: Final = re.compile(rb"[\r\n]")
_BRACKET_ESCAPE: Final = re.compile(rb"\\u00(?:3c|5b|5d)", re.IGNORECASE)
_JOINER_ESCAPE: Final = re.compile(rb"\\u(?:200[bcd]|2060|feff)", re.IGNORECASE)
_ESCAPE: Final = re.compile(rb"\\(?:u.{4}|.)", re.DOTALL)
_STRING: Final = re.compile(rb'"[^"]*+"?')
_VALUE: Final = re.compile(rb"[\[{,]")
_JOINER: Final = re.compile(
    rb"(?:[<\[\]]|\x01u00(?:3c|5b|5d))(?:\xe2\x80[\x8b-\x8d]|\xe2\x81\xa0|\xef\xbb\xbf|\x01u(?:200[bcd]|2060|feff))",
    re.IGNORECASE,
)
_BACKSLASH: Final = b"\x01"
"""In place of an escaped one: what follows it is no escape here, but in JSON within this JSON, as arguments are."""
_ENCODINGS: Final = "gzip, deflate"
_ERROR_STATUS: Final = 400
_WITHOUT_HTTP: Final = frozenset({"xai"})
"""Providers that need no client: gRPC bounds its messages."""


class RefusedStreamError(Exception):
    """An answer that is not read any further; the message continues `Model "<provider>/<model>" …`."""

    @classmethod
    def too_many(cls, most: int, what: str) -> Self:
        return cls(f"sent more than {most} {what}, which is not read on")


class UnboundedError(Exception):
    """A provider whose HTTP client is not where pydantic-ai keeps it: nothing that it is sent would have a size."""


class _Body(Protocol):
    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def aclose(self) -> None: ...


class _Response(Protocol):
    """A response of httpx or httpx2: providers have either."""

    status_code: int
    headers: MutableMapping[str, str]
    stream: _Body


class _Client(Protocol):
    headers: MutableMapping[str, str]
    event_hooks: MutableMapping[str, list[object]]


def bound(client: _Client) -> None:
    """Hold every answer that an asynchronous client of httpx or httpx2 is given to the sizes."""
    client.headers["Accept-Encoding"] = _ENCODINGS  # what we can unfold ourselves
    client.event_hooks["response"].append(_bounded)


def bounded(provider: ProviderT) -> ProviderT:
    """A provider of pydantic-ai whose own HTTP client is bound; a provider without one raises `UnboundedError`."""
    if (client := getattr(provider, "_own_http_client", None)) is not None:
        bound(client)
    elif getattr(provider, "name", None) not in _WITHOUT_HTTP:
        raise UnboundedError
    return provider


async def _bounded(response: _Response) -> None:
    encoding = response.headers.pop("Content-Encoding", "").strip().lower()
    is_error = response.status_code >= _ERROR_STATUS
    kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    is_stream = not is_error and kind not in {"application/json", "text/html"}
    body = _pieces(response.stream, _unfolding(encoding), is_error=is_error, is_stream=is_stream)
    response.stream = _body_type(type(response).__module__.partition(".")[0])(body, response.stream)


class _BoundedBody:
    """A body in pieces. What closes it closes what it is made of."""

    def __init__(self, pieces: AsyncGenerator[bytes], inner: _Body) -> None:
        self._pieces = pieces
        self._inner = inner

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def aclose(self) -> None:
        await self._pieces.aclose()
        await self._inner.aclose()


@cache
def _body_type(library: str) -> type[_BoundedBody]:
    """Return the kind of body that a library takes: its own only."""
    own: type = sys.modules[library].AsyncByteStream
    return cast("type[_BoundedBody]", type("BoundedBody", (_BoundedBody, own), {}))


async def _pieces(inner: _Body, unfolding: _Unfolding, *, is_error: bool, is_stream: bool) -> AsyncGenerator[bytes]:
    lines, size = _Lines(), 0
    most = MAX_ERROR_BYTES if is_error else MAX_BYTES if is_stream else MAX_BODY_BYTES
    async for raw in inner:
        for part in unfolding.of(raw):
            size += len(part)
            if size > most and is_error:
                return
            if size > most:
                raise RefusedStreamError.too_many(most, "bytes in one answer")
            for piece in lines.of(part) if is_stream else (part,):
                await (_look_at(piece) if is_stream else checkpoint())
                yield piece
    if rest := lines.rest():
        await _look_at(rest)
        yield rest


class _Unfolding:
    """A body as it is, or out of its compression, in parts of bounded size."""

    def __init__(self, wbits: int | None) -> None:
        self._decompressor = None if wbits is None else zlib.decompressobj(wbits)
        self._is_fresh = True

    def of(self, data: bytes) -> Iterator[bytes]:
        if self._decompressor is None:
            yield data
            return
        part = b""
        while data or len(part) == _PIECE:  # as much again may wait inside
            part, data = self._part(self._decompressor, data)
            if part:
                yield part
        if self._decompressor.unused_data:  # a second member of gzip too: no server sends one
            msg = "sent more after the end of its compressed answer"
            raise RefusedStreamError(msg)

    def _part(self, decompressor: zlib._Decompress, data: bytes) -> tuple[bytes, bytes]:
        """Return the next part, and what of `data` is left."""
        try:
            part = decompressor.decompress(data, _PIECE)
        except zlib.error as error:
            if not self._is_fresh:
                msg = "sent a compressed answer that cannot be unfolded"
                raise RefusedStreamError(msg) from error
            self._is_fresh = False
            self._decompressor = zlib.decompressobj(-zlib.MAX_WBITS)  # `deflate` is both, with a header and without
            return self._part(self._decompressor, data)
        self._is_fresh = False
        return part, decompressor.unconsumed_tail


def _unfolding(encoding: str) -> _Unfolding:
    match encoding:
        case "" | "identity":
            return _Unfolding(None)
        case "gzip" | "x-gzip" | "deflate":
            return _Unfolding(zlib.MAX_WBITS | 32)
        case _:
            msg = f"compressed its answer as {encoding[:40]!r}, which nobody has asked for"
            raise RefusedStreamError(msg)


class _Lines:
    """Whole lines of a stream, several in a piece unless they are long."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []
        self._size = 0

    def of(self, data: bytes) -> Iterator[bytes]:
        """Yield the lines that end with `data`; what has only begun waits for its end."""
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        whole = b"".join((*self._begun, data[:end])) if end else b""
        if end:
            self._begun, self._size = [], 0
        if end < len(data):
            self._begun.append(data[end:])
            self._size += len(data) - end
        _hold_to_size(self._size)
        at = 0
        while len(whole) - at > _PIECE:
            cut = max(whole.rfind(b"\n", at, at + _PIECE), whole.rfind(b"\r", at, at + _PIECE)) + 1
            if not cut:
                found = _END.search(whole, at + _PIECE)
                cut = len(whole) if found is None else found.end()
            yield whole[at:cut]
            at = cut
        if at < len(whole):
            yield whole[at:]

    def rest(self) -> bytes:
        """Return the line that has no end."""
        return b"".join(self._begun)


async def _look_at(piece: bytes) -> None:
    """Let others have their turn; refuse a long line that its reader would have to work on for long."""
    await checkpoint()
    if len(piece) <= _PIECE:
        return
    _hold_to_size(len(piece))
    plain = piece.replace(rb"\\", _BACKSLASH)
    plain = _JOINER_ESCAPE.sub(b"\xe2\x80\x8d", plain)
    await checkpoint()
    plain = _BRACKET_ESCAPE.sub(b"<", plain)
    await checkpoint()
    plain = _ESCAPE.sub(b".", plain)
    await checkpoint()
    if len(plain.decode("utf-8", "ignore")) > MAX_LINE_CHARS:
        raise RefusedStreamError.too_many(MAX_LINE_CHARS, "characters in one line")
    if len(_VALUE.findall(_STRING.sub(b"", plain))) > MAX_VALUES:
        raise RefusedStreamError.too_many(MAX_VALUES, "values in one line")
    if len(_JOINER.findall(plain)) > MAX_JOINERS:
        raise RefusedStreamError.too_many(MAX_JOINERS, "invisible characters behind brackets in one line")
    await checkpoint()


def _hold_to_size(size: int) -> None:
    if size > MAX_LINE_BYTES:
        raise RefusedStreamError.too_many(MAX_LINE_BYTES, "bytes in one line")
