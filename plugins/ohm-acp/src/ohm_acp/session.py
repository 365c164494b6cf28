"""The way to a session of an agent in which a prompt can be given: handshake, login, session, model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from acp import PROTOCOL_VERSION
from acp.schema import InitializeResponse
from pydantic import ValidationError

from ohm_acp.checkpoint import Checkpoint
from ohm_acp.choices import Choices
from ohm_acp.failures import (
    Gone,
    Refusal,
    not_logged_in,
    other_version,
    refused,
    unreadable,
)
from ohm_subagents.plugin import Err, Ok, Result

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_acp.agents import Agent
    from ohm_acp.options import AcpOptions
    from ohm_acp.peer import Asked, Peer
    from ohm_subagents.plugin import JsonObject, OhmError, RunRequest

_CLIENT: Final[JsonObject] = {"name": "ohm-subagents", "version": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session of an agent."""

    id: str
    """The agent's own id of it."""
    choices: Choices
    """The models, modes and levels that can be chosen in it."""
    before: Checkpoint | None = None
    """The state that it was continued from; None for a new session."""
    lost: str = ""
    """The reason for which a session was not continued; empty if none was to be."""


class Opening:
    """The requests that lead to a session; each `Err` is that of the run, or `Gone`."""

    def __init__(self, backend_id: str, agent: Agent, options: AcpOptions, peer: Peer, request: RunRequest) -> None:
        self._who = backend_id
        self._agent = agent
        self._options = options
        self._peer = peer
        self._request = request

    async def handshake(self) -> Result[InitializeResponse, OhmError | Gone]:
        """Agree on the version of the protocol, and learn what the agent can do."""
        asked = await self._peer.ask(
            "initialize", {"protocolVersion": PROTOCOL_VERSION, "clientCapabilities": {}, "clientInfo": _CLIENT}
        )
        if isinstance(asked, Err):
            return self._failed(asked.err_value)
        answer = asked.ok_value
        version = answer.get("protocolVersion")
        if version is None:
            return Err(unreadable(self._who, "initialize"))
        if version != PROTOCOL_VERSION:
            return Err(other_version(self._who, version, PROTOCOL_VERSION))
        try:
            return Ok(InitializeResponse.model_validate(answer))
        except ValidationError:
            return Err(unreadable(self._who, "initialize"))

    async def session(
        self, agent: InitializeResponse, servers: Iterable[JsonObject]
    ) -> Result[Session, OhmError | Gone]:
        """Continue the session of the request, by `session/resume` or `session/load`, or begin one."""
        before = Checkpoint.read(self._request.checkpoint)
        common: JsonObject = {
            "cwd": str(self._request.cwd),
            "mcpServers": [*servers],
            "_meta": self._agent.meta(self._request),
        }
        lost = ""
        for way in _ways(agent) if before.session else ():
            asked = await self._peer.ask(way, {**common, "sessionId": before.session})
            if isinstance(asked, Ok):
                return Ok(Session(id=before.session, choices=Choices.read(asked.ok_value), before=before))
            if isinstance(asked.err_value, Gone):
                return Err(asked.err_value)
            lost = asked.err_value.text
        return await self._new(agent, common, lost or ("it keeps none" if before.session else ""))

    async def _new(self, agent: InitializeResponse, common: JsonObject, lost: str) -> Result[Session, OhmError | Gone]:
        asked = await self._peer.ask("session/new", common)
        if isinstance(asked, Err) and asked.err_value.is_for_login:
            logged_in = await self._log_in(agent)
            if isinstance(logged_in, Err):
                return logged_in
            asked = await self._peer.ask("session/new", common)
        if isinstance(asked, Err):
            return self._failed(asked.err_value)
        match asked.ok_value:
            case {"sessionId": str(session)} if session:
                return Ok(Session(id=session, choices=Choices.read(asked.ok_value), lost=lost))
            case _:
                return Err(unreadable(self._who, "session/new"))

    async def _log_in(self, agent: InitializeResponse) -> Result[None, OhmError | Gone]:
        methods = [one.id for one in agent.auth_methods or [] if one.id]
        method = self._options.auth_method
        if method is None:
            setting = f'subagents.backends."{self._who}".authMethod of ohm.json'
            return Err(not_logged_in(self._who, methods, setting))
        asked: Asked = await self._peer.ask("authenticate", {"methodId": method})
        return self._failed(asked.err_value) if isinstance(asked, Err) else Ok(None)

    def _failed(self, fault: Refusal | Gone) -> Err[OhmError | Gone]:
        return Err(refused(self._who, fault, self._request.env) if isinstance(fault, Refusal) else fault)


def _ways(agent: InitializeResponse) -> Iterable[str]:
    """Yield the requests by which the agent says that it continues a session. Some say so and then do not."""
    capabilities = agent.agent_capabilities
    if capabilities is None:
        return
    sessions = capabilities.session_capabilities
    if sessions is not None and sessions.resume is not None:
        yield "session/resume"
    if capabilities.load_session:
        yield "session/load"
