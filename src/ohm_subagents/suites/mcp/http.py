"""The HTTP client for a server that has an address: an answer that is no stream has a size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import httpx2

from ohm_subagents.suites.mcp.stdio import MAX_MESSAGE, TOO_LONG

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

_CONNECT_S: Final = 30


def http_client(headers: Mapping[str, str], on_fault: Callable[[str], None]) -> httpx2.AsyncClient:
    """Return a client that reads no more than `MAX_MESSAGE` of an answer; `on_fault` is called with the reason."""

    async def bounded(response: httpx2.Response) -> None:
        encoding = response.headers.get("Content-Encoding", "identity")
        if encoding.strip().lower() != "identity":
            why = f"it compressed an answer as {encoding!r:.40}, which nobody has asked for"
            on_fault(why)
            raise httpx2.StreamError(why)
        kind = response.headers.get("Content-Type", "").strip().lower()
        if isinstance(response.stream, httpx2.AsyncByteStream) and not kind.startswith("text/event-stream"):
            response.stream = _Bounded(response.stream, on_fault)

    timeout = httpx2.Timeout(_CONNECT_S, read=None)
    own = {"Accept-Encoding": "identity"}
    return httpx2.AsyncClient(headers={**own, **headers}, timeout=timeout, event_hooks={"response": [bounded]})


class _Bounded(httpx2.AsyncByteStream):
    """A body that ends with an error once it is too long."""

    def __init__(self, inner: httpx2.AsyncByteStream, on_fault: Callable[[str], None]) -> None:
        self._inner = inner
        self._on_fault = on_fault

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._inner:
            size += len(part)
            if size > MAX_MESSAGE:
                self._on_fault(TOO_LONG)
                raise httpx2.StreamError(TOO_LONG)
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()
