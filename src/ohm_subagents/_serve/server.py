"""The server: listens at a socket of its user, and ends when nobody needs it."""

from __future__ import annotations

import logging
import os
from contextlib import aclosing, suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import SocketAttribute

from ohm_subagents._app.served.frames import Frames
from ohm_subagents._app.served.place import ServerError, connected, end_it, is_same_user, make_private, unreachable
from ohm_subagents._concurrency.abort import wait_or_abort
from ohm_subagents._concurrency.file_lock import locked, try_lock
from ohm_subagents._serve.hosted import HostedOhms
from ohm_subagents._serve.session import Session
from ohm_subagents.contract.result import Err, Ok
from ohm_subagents.contract.wire.codec import common_version
from ohm_subagents.contract.wire.serving import AskStatus, OhmOpened, OhmRefused, OpenOhm, ServerStatus
from ohm_subagents.contract.wire.versions import WireError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable
    from pathlib import Path

    from anyio.abc import SocketStream, TaskGroup

    from ohm_subagents.contract.errors import OhmError
    from ohm_subagents.contract.result import Result
    from ohm_subagents.contract.wire.messages import WireMessage

logger = logging.getLogger(__name__)
ANSWERS_WITHIN_S: Final = 10
"""A server that takes longer to tell its state is taken for one that hangs."""


class Server:
    """Owns the tasks of the programs that connect to it."""

    def __init__(self, group: TaskGroup, *, idle_s: float) -> None:
        self._idle_s = idle_s
        self._news = anyio.Event()
        self._stops = False
        self._group = group
        self._ohms = HostedOhms(group, self._changed)

    async def until_idle(self) -> None:
        """Return when it is to stop, or no program was connected and no task ran for the whole time."""
        while not self._stops:
            self._ohms.end_unused()
            self._news = anyio.Event()
            with anyio.move_on_after(self._idle_s) as quiet:
                await self._news.wait()
            if quiet.cancelled_caught and not self._ohms.clients and not self._ohms.running:
                return

    async def handle(self, stream: SocketStream) -> None:
        """Serve one connection until it ends."""
        frames = Frames(stream)
        try:
            connection = stream.extra(SocketAttribute.raw_socket)  # noqa: S610  no Django
            if is_same_user(connection):
                async with aclosing(frames.read()) as messages, anyio.create_task_group() as group:
                    group.start_soon(self._written, frames, group.cancel_scope)
                    with suppress(WireError):  # it is no program of ours: the connection ends
                        await self._served(frames, messages)
                    frames.finish()
        except Exception:
            logger.exception("The connection of a program ended, for the server failed.")  # not those of others
        finally:
            await frames.aclose()
            self._changed()

    async def _written(self, frames: Frames, scope: anyio.CancelScope) -> None:
        await frames.write()
        scope.cancel()

    async def _served(self, frames: Frames, messages: AsyncGenerator[WireMessage]) -> None:
        try:
            first = await anext(messages, None)
        except WireError as wrong:
            frames.send(OhmRefused(reason=f"The server cannot read the program. {wrong}"))
            return
        match first:
            case OpenOhm() as opening:
                await self._opened(opening, frames, messages)
            case AskStatus(stops=stops):
                frames.send(self._status())
                self._stops = self._stops or stops
            case _:
                frames.send(OhmRefused(reason="The first message has to say which Ohm is wanted."))

    async def _opened(self, opening: OpenOhm, frames: Frames, messages: AsyncGenerator[WireMessage]) -> None:
        try:
            speaks = common_version(opening.versions, they="the program", we="the server")
        except WireError as wrong:
            frames.send(OhmRefused(reason=str(wrong)))
            return
        hosted = self._ohms.use(opening)
        try:
            engine = await hosted.opened()
            if engine is None:
                frames.send(OhmRefused(reason=hosted.fault, advice=hosted.advice))
                return
            frames.send(OhmOpened(speaks=speaks))
            frames.version, frames.before = speaks, engine.store.flush
            await Session(engine, hosted.starters, frames, self._group).serve(messages)
        finally:
            self._ohms.leave(hosted)

    async def close(self) -> None:
        """Close what it owns: tasks that run are cancelled, those that can go on without it are left to the next."""
        await self._ohms.close()

    def _status(self) -> ServerStatus:
        return ServerStatus(
            pid=os.getpid(),
            release=version("ohm-subagents"),
            clients=self._ohms.clients,
            tasks=self._ohms.running,
        )

    def _changed(self) -> None:
        self._news.set()


async def serve(path: Path, *, idle_s: float, listening: Callable[[], None], stop: anyio.Event) -> str | None:
    """Listen at a socket until nobody needs the server for `idle_s` seconds, it is stopped, or `stop` is set.

    `listening` is called once programs can connect. Returns why it cannot listen, and None at the end.
    """
    try:
        make_private(path.parent)
    except ServerError as failure:
        return str(failure)
    with try_lock(path.with_suffix(".lock")) as is_ours:
        if not is_ours or await connected(path) is not None:
            return f"A server listens at '{path}' already; `ohm serve --status` tells about it."
        await anyio.Path(path).unlink(missing_ok=True)
        async with await anyio.create_unix_listener(path, mode=0o600) as listener, anyio.create_task_group() as owned:
            server = Server(owned, idle_s=idle_s)
            try:
                async with anyio.create_task_group() as connections:
                    connections.start_soon(listener.serve, server.handle)
                    listening()
                    await wait_or_abort(server.until_idle, stop)
                    connections.cancel_scope.cancel()
                await server.close()
                with suppress(OSError):  # one that says nothing is not left behind
                    if not (log := path.with_suffix(".log")).stat().st_size:
                        log.unlink()
            finally:
                path.unlink(missing_ok=True)  # noqa: ASYNC240  not awaited: it may be cancelled
            owned.cancel_scope.cancel()
    return None


async def ask_server(path: Path, *, stops: bool = False) -> Result[ServerStatus | None, OhmError]:
    """Return the state of the server at a socket, which `stops` ends; None if there is none.

    The error says that something listens there, and does not tell its state.
    """
    stream = await connected(path)
    if stream is None:
        return Ok(None)
    frames = Frames(stream)
    told: WireMessage | None = None
    reason = "it ended the connection."
    try:
        frames.send(AskStatus(stops=stops))
        with anyio.move_on_after(ANSWERS_WITHIN_S) as patience:
            await frames.flush()
            async with aclosing(frames.read()) as messages:
                told = await anext(messages, None)
        if patience.cancelled_caught:
            reason = f"nothing came within {ANSWERS_WITHIN_S} seconds."
    except WireError as wrong:
        reason = str(wrong)
    finally:
        await frames.aclose()
    if not isinstance(told, ServerStatus):
        reason = told.reason if isinstance(told, OhmRefused) else reason
        return Err(unreachable(f"The server at '{path}' does not tell its state: {reason}", end_it(path)))
    if stops:
        async with locked(path.with_suffix(".lock")):  # which the server holds until all is closed
            pass
    return Ok(told)
