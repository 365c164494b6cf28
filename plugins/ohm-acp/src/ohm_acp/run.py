"""One run in a process of the agent: from the handshake to the answer. Imports the ACP library, so import it late."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import anyio

from ohm_acp.agents import OTHER, SERVER
from ohm_acp.checkpoint import Checkpoint
from ohm_acp.choices import model_value
from ohm_acp.failures import Gone, Refusal, refused, stopped, without_server
from ohm_subagents.plugin import (
    CUT_OFF,
    AgentEnded,
    Err,
    ErrorCode,
    OhmError,
    Ok,
    Result,
    RouteResolved,
    RunOutput,
    full_instructions,
    provider_failure,
)
from ohm_subagents.shell import command_setting, full_prompt

if TYPE_CHECKING:
    from acp.schema import Implementation, InitializeResponse

    from ohm_acp.agents import Agent
    from ohm_acp.choices import Choice
    from ohm_acp.peer import Peer
    from ohm_acp.report import Report
    from ohm_acp.session import Opening, Session
    from ohm_subagents.mcp import Endpoint
    from ohm_subagents.plugin import JsonObject, RunRequest

LISTED_WITHIN_S: Final = 10
"""An agent that has not looked at our tools by then may do so when it needs them."""


class AgentRun:
    """One run in a process of the agent."""

    def __init__(self, backend_id: str, agent: Agent, request: RunRequest, report: Report, peer: Peer) -> None:
        self._id = backend_id
        self._agent = agent
        self._request = request
        self._report = report
        self._peer = peer

    async def through(self, opening: Opening, endpoint: Endpoint | None) -> Result[RunOutput, OhmError | Gone]:
        """Go from the handshake to the answer."""
        shaken = await opening.handshake()
        if isinstance(shaken, Err):
            return shaken
        fault = self._misfit(shaken.ok_value, endpoint)
        if fault is not None:
            return Err(fault)
        servers = [] if endpoint is None else [_server(endpoint)]
        self._report.serves({} if endpoint is None else endpoint.tools)
        opened = await opening.session(shaken.ok_value, servers)
        if isinstance(opened, Err):
            return opened
        session = opened.ok_value
        chosen = await self._choose(session)
        if isinstance(chosen, Err):
            return chosen
        asking = await self._let_it_ask(session)
        if isinstance(asking, Err):
            return asking
        if endpoint is not None:
            with anyio.move_on_after(LISTED_WITHIN_S):
                await endpoint.listed()
        self._tell(session, chosen.ok_value, shaken.ok_value.agent_info)
        return await self._prompt(session)

    def _misfit(self, agent: InitializeResponse, endpoint: Endpoint | None) -> OhmError | None:
        """Return the error of an agent that is not the one that it was taken for, or that cannot be given our tools."""
        name = agent.agent_info.name if agent.agent_info else ""
        if self._agent is not OTHER and name and not self._agent.is_named_by(name):
            return OhmError(
                code=ErrorCode.BACKEND_FAILED,
                message=f'{self._id} was taken for {self._agent.name}, and calls itself "{name:.80}".',
                advice=f"Say which agent it is in {agent_setting(self._id)}.",
            )
        capabilities = agent.agent_capabilities
        servers = capabilities.mcp_capabilities if capabilities else None
        if endpoint is not None and not (servers and servers.http):
            return without_server(self._id, tuple(endpoint.tools.values()))
        return None

    async def _choose(self, session: Session) -> Result[str, OhmError | Gone]:
        """Choose the model and the thinking level of the request; return the model that answers, as far as known."""
        model, choices = self._request.model, session.choices
        current = choices.model.current if choices.model else ""
        if model is None:
            return Ok(current)
        value = None if choices.model is None else model_value(choices.model, model)
        if choices.model is not None and value is not None:
            chosen = await self._set(session, choices.model, value)
            if isinstance(chosen, Err):
                return chosen
        elif choices.model is not None and not self._agent.chooses_model:
            return Err(self._unknown_model(choices.model))
        elif not self._agent.chooses_model:
            self._report.warn(f'{self._id} offers no choice of a model, so "{model}" has no effect.')
            return Ok(current)
        if model.thinking:
            chosen = await self._think(session, model.thinking)
            if isinstance(chosen, Err):
                return chosen
        return Ok(model.model)

    async def _let_it_ask(self, session: Session) -> Result[None, OhmError | Gone]:
        """Leave a mode in which it asks nothing, where calls have rules."""
        mode = self._agent.asking_mode
        if not self._request.call_rules or session.choices.mode in {"", mode} or not mode:
            return Ok(None)
        asked = await self._peer.ask("session/set_mode", {"sessionId": session.id, "modeId": mode})
        return self._failed(asked.err_value) if isinstance(asked, Err) else Ok(None)

    async def _think(self, session: Session, level: str) -> Result[None, OhmError | Gone]:
        choice = session.choices.thinking
        if choice is not None and level in choice.values:
            return await self._set(session, choice, level)
        if not (level == "off" and self._agent.turns_thinking_off):
            self._report.warn(f'{self._id} offers no thinking level "{level}", so it has no effect.')
        return Ok(None)

    async def _set(self, session: Session, choice: Choice, value: str) -> Result[None, OhmError | Gone]:
        if value == choice.current:
            return Ok(None)
        method, params = choice.request(session.id, value)
        asked = await self._peer.ask(method, params)
        return self._failed(asked.err_value) if isinstance(asked, Err) else Ok(None)

    def _unknown_model(self, choice: Choice) -> OhmError:
        model = self._request.model
        known = ", ".join(choice.values[:20])
        return OhmError(
            code=ErrorCode.MODEL_UNKNOWN,
            message=f'{self._id} does not offer the model "{model}".',
            advice=f"Its models: {known or 'none'}. Name one of them, or none to leave the choice to the agent.",
        )

    def _tell(self, session: Session, model: str, agent: Implementation | None) -> None:
        """Report what is known before the prompt: who answers, and what was not honoured."""
        asked = self._request.model
        provider = self._agent.provider or (asked.provider if asked else "")
        said = RouteResolved(provider=provider, model=model, runtime="acp", route=self._id)
        self._report.emit(said if agent is None else replace(said, program=agent.name, program_version=agent.version))
        if session.lost:
            self._report.warn(
                f"{self._id} did not continue its session ({session.lost}), so the conversation so far was put "
                "into the prompt."
            )
        self._report.begins(session.id, session.before or Checkpoint())

    async def _prompt(self, session: Session) -> Result[RunOutput, OhmError | Gone]:
        report = self._report
        try:
            asked = await self._peer.prompt(session.id, self._blocks(session))
        except anyio.get_cancelled_exc_class():
            report.ends(self._peer.last_answer())
            raise
        if isinstance(asked, Err):
            report.ends({})
            return self._failed(asked.err_value)
        report.ends(asked.ok_value)
        return self._outcome(f"{asked.ok_value.get('stopReason')}")

    def _failed(self, fault: Refusal | Gone) -> Err[OhmError | Gone]:
        return Err(refused(self._id, fault, self._request.env) if isinstance(fault, Refusal) else fault)

    def _blocks(self, session: Session) -> list[JsonObject]:
        """Return the prompt, in a new session below the instructions and what was said before."""
        request = self._request
        if session.before is not None:
            return [_text(request.prompt)]
        prompt = full_prompt(replace(request, checkpoint=None))
        return [_text(prompt if self._agent.takes_instructions else full_instructions(request.instructions, prompt))]

    def _outcome(self, reason: str) -> Result[RunOutput, OhmError]:
        report = self._report
        has_answered = bool(report.answer.strip()) or report.has_finalized
        if reason == "max_tokens" and has_answered:
            report.warn(f"{CUT_OFF} at the model's output token limit.")
        elif reason != "end_turn":
            return Err(stopped(self._id, reason))
        elif not has_answered:
            return Err(provider_failure(ErrorCode.PROVIDER_EMPTY_RESPONSE, self._id))
        report.emit(AgentEnded())
        return Ok(RunOutput(text=report.answer))


def agent_setting(backend_id: str) -> str:
    """Return the key of ohm.json that says which agent the command of a backend starts."""
    return command_setting(backend_id).replace(".command", ".agent")


def _server(endpoint: Endpoint) -> JsonObject:
    headers: list[JsonObject] = [{"name": name, "value": value} for name, value in endpoint.headers.items()]
    return {"type": "http", "name": SERVER, "url": endpoint.url, "headers": [*headers]}


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}
