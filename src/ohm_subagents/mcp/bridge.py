"""The door by which an agent outside of this process gets the child tools of its run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Final

import anyio
from anyio import to_thread

from ohm_subagents.contract import Err, ErrorCode, OhmError, Ok, Result
from ohm_subagents.mcp.offer import Offer
from ohm_subagents.plugin import install_command, on_asyncio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from contextlib import AbstractAsyncContextManager

    from ohm_subagents.mcp.bridge_server import BridgeServer
    from ohm_subagents.plugin import Gate, Sink
    from ohm_subagents.suite import Tool

_SERVER: Final = "ohm_subagents.mcp.bridge_server"
WRONG_LOOP: Final = OhmError(
    code=ErrorCode.EVENT_LOOP_UNSUPPORTED,
    message="Tools reach an agent outside of this process on asyncio only.",
    advice="Start the program with asyncio (anyio.run(main) does by default), or use another backend.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The MCP server of one run, over streamable HTTP; nobody without its headers reaches the tools."""

    url: str
    """The address, on 127.0.0.1."""
    token: str = field(repr=False)
    """The bearer token of this run. Give it to the agent in its environment or in a private file, never in its
    arguments, which everybody on the machine can read."""
    tools: Mapping[str, str]
    """The names of the tools as the server lists them, and their own: a long one is cut, because model providers
    refuse it."""
    listed: Callable[[], Awaitable[None]] = field(repr=False)
    """Wait until the agent has listed the tools: agents connect in their own time, and know no tool before."""

    calls: Callable[[], int] = field(repr=False)
    """Return how many calls the tools have got so far; an agent may report one that it has refused itself."""

    @property
    def headers(self) -> dict[str, str]:
        """The HTTP headers of each request."""
        return {"Authorization": f"Bearer {self.token}"}


class ToolBridge:
    """Gives agents outside of this process the child tools of their runs, by one MCP server on 127.0.0.1."""

    def __init__(self) -> None:
        self._offers: dict[str, Offer] = {}
        self._numbers = count(1)
        self._needed = anyio.Event()
        self._ready = anyio.Event()
        self._server: Result[BridgeServer, OhmError] = Err(WRONG_LOOP)

    @classmethod
    @asynccontextmanager
    async def serve(cls) -> AsyncGenerator[ToolBridge]:
        """Open a bridge for the runs of a backend; enter it where the backend opens.

        The server starts with the first run that needs it. Needs the extra `mcp`.
        """
        bridge = cls()
        async with anyio.create_task_group() as group:
            group.start_soon(bridge._serve)
            yield bridge
            group.cancel_scope.cancel()

    @asynccontextmanager
    async def offer(
        self, tools: Sequence[Tool], sink: Sink, gate: Gate | None = None
    ) -> AsyncGenerator[Result[Endpoint, OhmError]]:
        """Serve the child tools of a run until this is left, then end their calls and refuse new ones.

        Calls run in the caller's task, under its cancel scope. They are emitted as `ToolStarted`, `ToolUpdated` and
        `ToolEnded` under the tools' own names, so leave out what the agent itself reports of them. An `Err` says why
        there is no server. `gate`: that of the run, which is asked before each call.
        """
        server = await self._started()
        if isinstance(server, Err):
            yield server
            return
        token, offer = token_urlsafe(32), Offer(tools, sink, self._numbers, gate)
        names = {name: tool.name for name, tool in offer.tools.items()}
        endpoint = Endpoint(
            url=server.ok_value.url,
            token=token,
            tools=names,
            listed=offer.listed.wait,
            calls=lambda: offer.begun,
        )
        async with offer.open():
            self._offers[token] = offer
            try:
                yield Ok(endpoint)
            finally:
                del self._offers[token]

    async def _started(self) -> Result[BridgeServer, OhmError]:
        if not on_asyncio():
            return Err(WRONG_LOOP)
        self._needed.set()
        await self._ready.wait()
        return self._server

    async def _serve(self) -> None:
        await self._needed.wait()
        try:
            module = await to_thread.run_sync(import_module, _SERVER, abandon_on_cancel=True)  # takes most of a second
            opening: AbstractAsyncContextManager[BridgeServer] = module.BridgeServer.open(self._offers)
            async with opening as server:
                self._server = Ok(server)
                self._ready.set()
                await anyio.sleep_forever()
        except ImportError as missing:
            self._server = Err(_lacking(f"{missing}"))
        except OSError as refused:
            self._server = Err(_unserved(refused))
        finally:
            self._ready.set()


def _lacking(missing: str) -> OhmError:
    return OhmError(
        code=ErrorCode.PROVIDER_NOT_INSTALLED,
        message=f"Tools cannot be given to an agent outside of this process: {missing}.",
        advice=f"Install it: {install_command('mcp')}.",
    )


def _unserved(refused: OSError) -> OhmError:
    return OhmError(
        code=ErrorCode.BACKEND_FAILED,
        message=f"Tools cannot be served at 127.0.0.1: {refused.strerror or refused}.",
        advice="See that this program may listen at a port of its own.",
    )
