"""The backend of an agent: each run is a process of its own, with a server of its child tools beside it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ohm_backend_cli.start import Link
from ohm_subagents.mcp import ToolBridge
from ohm_subagents.plugin import BackendSpec, Diagnostic, DiagnosticRaised, Err, Ok
from ohm_subagents.shell import ShellBackend, ShellOptions, Supervisor, shell_backend

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ohm_backend_cli.agent import Agent
    from ohm_subagents.plugin import Backend, OhmError, Result, RunOutput, RunRequest, Sink


@dataclass(frozen=True)
class Opening:
    """Opens the backend of an agent; equal to another of the same agent, so that it stays open."""

    agent: Agent

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
        agent = self._opening.agent
        if not request.child_tools or not agent.child_prefix:
            return await self._linked(request, sink, Link())
        async with self._bridge.offer(request.child_tools, sink) as offered:
            match offered:
                case Ok(endpoint):
                    return await self._linked(request, sink, Link(endpoint=endpoint))
                case Err() as failed if request.profile.finalize is not None:
                    return failed
                case Err(error):
                    sink.emit(DiagnosticRaised(diagnostic=Diagnostic(subject="tools", message=f"{error}")))
                    return await self._linked(request, sink, Link())

    async def _linked(self, request: RunRequest, sink: Sink, link: Link) -> Result[RunOutput, OhmError]:
        dialect = self._opening.agent.dialect(link)
        return await ShellBackend(dialect, self._options, self._supervisor).run(request, sink)


def agent_backend(agent: Agent) -> BackendSpec[ShellOptions]:
    """Return the backend of an agent, for a plugin to hand over."""
    return replace(shell_backend(agent.dialect()), open=Opening(agent))
