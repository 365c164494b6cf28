"""Requests to an agent, and answers to its own."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import anyio
from acp import AGENT_METHODS, CLIENT_METHODS, RequestError
from acp.connection import Connection
from anyio import CancelScope

from ohm_acp.failures import Gone, Refusal
from ohm_acp.wire import Wire
from ohm_subagents.plugin import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from ohm_subagents.plugin import JsonObject
    from ohm_subagents.shell import Child

CANCEL_S: Final = 0.05
"""The time that an agent has to answer a cancelled prompt, so that what it has used is known."""
_PERMISSION: Final = CLIENT_METHODS["session_request_permission"]
Asked: TypeAlias = "Result[JsonObject, Refusal | Gone]"


class Peer:
    """The agent at the other end of a connection."""

    def __init__(self, connection: Connection, wire: Wire) -> None:
        self._connection = connection
        self._wire = wire

    @classmethod
    @asynccontextmanager
    async def of(
        cls, child: Child, updated: Callable[[JsonObject], None], permission: Callable[[object], Awaitable[JsonObject]]
    ) -> AsyncGenerator[Peer]:
        """Talk with a process until this is left; its end is the caller's to see to.

        `permission` answers requests for permission; whatever else the agent asks for, we do not have.
        """

        async def handle(method: str, params: Any, _is_notification: bool) -> JsonObject:  # noqa: ANN401, FBT001  the library's
            if method == _PERMISSION:
                return await permission(params)
            raise RequestError.method_not_found(method)

        wire = Wire(child, updated)
        connection = Connection(handle, wire)
        try:
            yield cls(connection, wire)
        finally:
            with CancelScope(shield=True):
                await connection.close()

    async def ask(self, method: str, params: JsonObject) -> Asked:
        """Send a request and return the answer."""
        try:
            answer: object = await self._connection.send_request(method, params)
        except RequestError as error:
            return Err(Refusal(code=error.code, message=str(error), data=cast("object", error.data)))
        except ConnectionError:
            return Err(Gone())
        return Ok(cast("JsonObject", answer) if isinstance(answer, dict) else {})

    async def prompt(self, session: str, blocks: list[JsonObject]) -> Asked:
        """Send a prompt and return the answer; a cancellation goes to the agent, which has a moment to answer it."""
        self._wire.expect()
        try:
            return await self.ask(AGENT_METHODS["session_prompt"], {"sessionId": session, "prompt": [*blocks]})
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(CANCEL_S, shield=True):
                await self._cancel(session)
            raise

    def last_answer(self) -> JsonObject:
        """Return the result of the newest answer, as of a prompt that was cancelled."""
        answer = self._wire.answer or {}
        result = answer.get("result")
        return result if isinstance(result, dict) else {}

    async def _cancel(self, session: str) -> None:
        try:
            await self._connection.send_notification(AGENT_METHODS["session_cancel"], {"sessionId": session})
        except ConnectionError:
            return
        await self._wire.answered.wait()
