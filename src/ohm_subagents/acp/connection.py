"""The messages of one client over a wire, for the connection of the ACP library."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, TypeGuard, cast

import anyio
from acp import RequestError
from acp.agent.router import build_agent_router
from acp.connection import Connection
from acp.meta import CLIENT_METHODS
from acp.schema import (
    CreateElicitationResponse,
    CreateFormSessionElicitationRequest,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SessionNotification,
)
from anyio.lowlevel import checkpoint
from pydantic import TypeAdapter, ValidationError

from ohm_subagents.acp.parameters import ignored, telling
from ohm_subagents.acp.stops import INVALID_PARAMS, INVALID_REQUEST
from ohm_subagents.commands import TooLong, message_too_long, request_id_in_use

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from acp import Agent
    from acp.connection import MethodHandler
    from acp.schema import ElicitationMode, PermissionOption, ToolCallUpdate
    from pydantic import BaseModel

    from ohm_subagents.acp.updates import Update
    from ohm_subagents.commands import Wire

    Message = dict[str, Any]

_PARSE_ERROR: Final = -32700
_FILLED_IN: Final = TypeAdapter[CreateElicitationResponse](CreateElicitationResponse)


async def serve(agent: Agent, wire: Wire, lines: AsyncIterator[bytes | TooLong]) -> None:
    """Serve until the client closes either end of the wire; what it still waits for is cancelled then."""
    async with anyio.create_task_group() as group:
        messages = Messages(wire, lines, lost=group.cancel_scope.cancel)
        connection = Connection(_answering(agent), messages, listening=False)
        agent.on_connect(cast("Any", _Editor(connection)))
        try:
            await connection.main_loop()
            await checkpoint()  # the loop returns when it is cancelled, too
        finally:
            with anyio.CancelScope(shield=True):
                await connection.close()


class _Editor:
    """The client as an agent sees it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def session_update(self, session_id: str, update: Update) -> None:
        notification = SessionNotification(session_id=session_id, update=update)
        params = notification.model_dump(mode="json", by_alias=True, exclude_none=True)
        await self._connection.send_notification(CLIENT_METHODS["session_update"], params)

    async def request_permission(
        self, *, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption]
    ) -> RequestPermissionResponse:
        asked = RequestPermissionRequest(session_id=session_id, tool_call=tool_call, options=options)
        answer = await self._ask(CLIENT_METHODS["session_request_permission"], asked)
        return RequestPermissionResponse.model_validate(answer)

    async def create_elicitation(self, *, message: str, mode: ElicitationMode) -> CreateElicitationResponse:
        asked = CreateFormSessionElicitationRequest.model_validate(
            {**mode.model_dump(by_alias=True), "message": message, "mode": "form"}
        )
        return _FILLED_IN.validate_python(await self._ask(CLIENT_METHODS["elicitation_create"], asked))

    async def _ask(self, method: str, request: BaseModel) -> object:
        params = request.model_dump(mode="json", by_alias=True, exclude_none=True)
        answer: object = await self._connection.send_request(method, params)
        return answer


def _answering(agent: Agent) -> MethodHandler:
    """Return the router of the library, with one sentence for parameters that do not fit."""
    router = build_agent_router(agent, use_unstable_protocol=True)

    async def answer(method: str, params: object, is_notification: bool) -> object:  # noqa: FBT001  as it is called
        try:
            unknown = ignored(method, params)
            return telling(await router(method, params, is_notification), unknown)
        except ValidationError as invalid:
            fault = invalid.errors(include_url=False, include_input=False, include_context=False)[0]
            place = ".".join(map(str, fault["loc"]))
            refusal = RequestError(INVALID_PARAMS, f"The parameters of {method} do not fit: '{place}': {fault['msg']}.")
        except RequestError as error:
            refusal = error
        if is_notification:  # it has no answer
            return None
        raise refusal

    return answer


class Messages:
    """The transport of the library's connection: it gets what is a message, and the client what refuses the rest."""

    def __init__(self, wire: Wire, lines: AsyncIterator[bytes | TooLong], *, lost: Callable[[], None]) -> None:
        """`lost` is called when the client does not read any more."""
        self._wire = wire
        self._lines = lines
        self._lost = lost
        self._writing = anyio.Lock()
        self._in_use: set[int | str] = set()

    async def send(self, message: Message) -> None:
        if "method" not in message:
            self._in_use.discard(message["id"])
        await self._write(message)

    async def _write(self, message: Message) -> None:
        line = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode(errors="replace") + b"\n"
        try:
            async with self._writing:
                await self._wire.write(line)
        except OSError:
            self._lost()

    async def receive(self) -> Message | None:
        async for line in self._lines:
            message = self._message(line)
            if isinstance(message, RequestError):
                await self._write({"jsonrpc": "2.0", "id": message.data, "error": _error(message)})
            else:
                return message
        return None

    async def close(self) -> None:
        """Leave the wire to its owner."""

    def _message(self, line: bytes | TooLong) -> Message | RequestError:
        """Return the message of a line, or the error that refuses it, with the id of the request as its data."""
        if isinstance(line, TooLong):
            return RequestError(INVALID_REQUEST, message_too_long(line.size), line.request_id)
        try:
            message: object = json.loads(line)
        except (ValueError, RecursionError) as error:
            return RequestError(_PARSE_ERROR, f"A line is no JSON-RPC message: {error}.")
        if not _is_object(message) or not (isinstance(message.get("method"), str) or "id" in message):
            return RequestError(INVALID_REQUEST, "A line is no JSON-RPC message: it has no method and no id.")
        if "method" not in message or "id" not in message:
            return message
        request_id: object = message["id"]
        if isinstance(request_id, bool) or not isinstance(request_id, int | str):
            return RequestError(INVALID_REQUEST, "The id of a request is no text and no whole number.")
        if request_id in self._in_use:
            return RequestError(INVALID_REQUEST, request_id_in_use(request_id), request_id)
        self._in_use.add(request_id)
        return message


def _error(refusal: RequestError) -> Message:
    return {"code": refusal.code, "message": f"{refusal}"}


def _is_object(value: object) -> TypeGuard[Message]:
    return isinstance(value, dict)
