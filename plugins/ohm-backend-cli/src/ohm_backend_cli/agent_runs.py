"""The runs of an agent: each is a process of its own, with a server of its child tools beside it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from ohm_backend_cli.control import AskingBackend, is_asking
from ohm_backend_cli.release import installed_release
from ohm_backend_cli.service import advised, service_of
from ohm_backend_cli.start import Link
from ohm_subagents.mcp import ToolBridge
from ohm_subagents.plugin import Diagnostic, DiagnosticRaised, Err, Ok, RouteResolved
from ohm_subagents.shell import ShellBackend, Supervisor, command_environment, locate_command

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ohm_backend_cli.agent import Agent
    from ohm_subagents.plugin import CompatibleProvider, OhmError, Result, RunOutput, RunRequest, Sink
    from ohm_subagents.shell import Dialect, ShellOptions


@asynccontextmanager
async def opened(
    agent: Agent, options: ShellOptions, services: tuple[CompatibleProvider, ...]
) -> AsyncGenerator[AgentBackend]:
    """Open the backend of an agent; `services` are those of ohm.json that it may ask."""
    async with Supervisor.open(grace_s=options.grace_s) as supervisor, ToolBridge.serve() as bridge:
        yield AgentBackend(agent, services, options, supervisor, bridge)


class AgentBackend:
    """Runs each prompt as a process of its own; nothing of it is left when the answer is there."""

    def __init__(
        self,
        agent: Agent,
        services: tuple[CompatibleProvider, ...],
        options: ShellOptions,
        supervisor: Supervisor,
        bridge: ToolBridge,
    ) -> None:
        self._agent = agent
        self._services = services
        self._options = options
        self._supervisor = supervisor
        self._bridge = bridge

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Serve the child tools, if there are any, while the process runs."""
        match service_of(request, self._services):
            case Err() as failed:
                return failed
            case Ok(service):
                link = Link(service=service)
        if not request.child_tools or not self._agent.child_prefix:
            return await self._linked(request, sink, link)
        async with self._bridge.offer(request.child_tools, sink, request.gate) as offered:
            match offered:
                case Ok(endpoint):
                    return await self._linked(request, sink, replace(link, endpoint=endpoint))
                case Err() as failed if request.profile.finalize is not None:
                    return failed
                case Err(error):
                    sink.emit(DiagnosticRaised(diagnostic=Diagnostic(subject="tools", message=f"{error}")))
                    return await self._linked(request, sink, link)

    async def _linked(self, request: RunRequest, sink: Sink, link: Link) -> Result[RunOutput, OhmError]:
        agent = self._agent
        dialect = agent.dialect(link)
        shared = (dialect, self._options, self._supervisor)
        asks = agent.asks and is_asking(request)
        self._tell_release(dialect, request, sink)
        backend = AskingBackend(*shared, agent.our_names) if asks else ShellBackend(*shared)
        match await backend.run(request, sink):
            case Err(error):
                return Err(advised(error, agent.api, link.service))
            case answered:
                return answered

    def _tell_release(self, dialect: Dialect, request: RunRequest, sink: Sink) -> None:
        """Report the release of the agent, as far as it is known before it runs."""
        command, env = self._options.command or dialect.command, command_environment(self._options, request.env)
        located = locate_command(command, env, backend=dialect.id, install=dialect.install)
        release = installed_release(located.ok_value[0]) if isinstance(located, Ok) else ""
        if release:
            sink.emit(RouteResolved(program=dialect.id, program_version=release))
