"""The backend of an agent: each run is a process of its own, with a server of its child tools beside it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ohm_backend_cli.service import advised, service_of
from ohm_backend_cli.start import Link
from ohm_subagents.mcp import ToolBridge
from ohm_subagents.plugin import OHM_JSON, BackendSpec, Diagnostic, DiagnosticRaised, Err, Ok
from ohm_subagents.shell import ShellBackend, ShellOptions, Supervisor, shell_backend

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ohm_backend_cli.agent import Agent
    from ohm_subagents.plugin import (
        Backend,
        BackendContext,
        CompatibleProvider,
        OhmError,
        Result,
        RunOutput,
        RunRequest,
        Sink,
    )


@dataclass(frozen=True)
class Opening:
    """Opens the backend of an agent; equal to another of the same agent, so that it stays open."""

    agent: Agent
    services: tuple[CompatibleProvider, ...] = ()
    """The services of ohm.json that it may ask."""

    @asynccontextmanager
    async def __call__(self, options: ShellOptions) -> AsyncGenerator[Backend]:
        """Open it."""
        async with Supervisor.open(grace_s=options.grace_s) as supervisor, ToolBridge.serve() as bridge:
            yield AgentBackend(self, options, supervisor, bridge)


class AgentBackend:
    """Runs each prompt as a process of its own; nothing of it is left when the answer is there."""

    def __init__(self, opening: Opening, options: ShellOptions, supervisor: Supervisor, bridge: ToolBridge) -> None:
        self._opening = opening
        self._options = options
        self._supervisor = supervisor
        self._bridge = bridge

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Serve the child tools, if there are any, while the process runs."""
        match service_of(request, self._opening.services):
            case Err() as failed:
                return failed
            case Ok(service):
                link = Link(service=service)
        if not request.child_tools or not self._opening.agent.child_prefix:
            return await self._linked(request, sink, link)
        async with self._bridge.offer(request.child_tools, sink) as offered:
            match offered:
                case Ok(endpoint):
                    return await self._linked(request, sink, replace(link, endpoint=endpoint))
                case Err() as failed if request.profile.finalize is not None:
                    return failed
                case Err(error):
                    sink.emit(DiagnosticRaised(diagnostic=Diagnostic(subject="tools", message=f"{error}")))
                    return await self._linked(request, sink, link)

    async def _linked(self, request: RunRequest, sink: Sink, link: Link) -> Result[RunOutput, OhmError]:
        agent = self._opening.agent
        match await ShellBackend(agent.dialect(link), self._options, self._supervisor).run(request, sink):
            case Err(error):
                return Err(advised(error, agent.api, link.service))
            case answered:
                return answered


def agent_backend(agent: Agent, context: BackendContext) -> BackendSpec[ShellOptions]:
    """Return the backend of an agent, for a plugin to hand over; `context` is that of the hook `ohm_backends`."""
    services = tuple(one for one in context.providers if one.source == OHM_JSON) if agent.api else ()
    return replace(shell_backend(agent.dialect()), open=Opening(agent, services))
