"""The backend: one process of the agent a run. Imports the ACP library, so import it late."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, Self

import anyio
from anyio.lowlevel import checkpoint

from ohm_acp.agents import AGENTS, agent_of
from ohm_acp.failures import (
    ended_early,
    unasked,
    unbounded,
)
from ohm_acp.peer import Peer
from ohm_acp.permissions import Permissions
from ohm_acp.report import Report
from ohm_acp.run import AgentRun, agent_setting
from ohm_acp.session import Opening
from ohm_subagents.contract import DiagnosticRaised
from ohm_subagents.mcp import ToolBridge
from ohm_subagents.plugin import (
    Err,
    OhmError,
    Ok,
    Result,
    RunOutput,
    has_written_rules,
    unasked_calls,
)
from ohm_subagents.shell import (
    Launch,
    Supervisor,
    child_environment,
    command_environment,
    locate_command,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from ohm_acp.options import AcpOptions
    from ohm_subagents.mcp import Endpoint
    from ohm_subagents.plugin import RunRequest, Sink
    from ohm_subagents.shell import Child

GONE_WITHIN_S: Final = 1
"""The time that an agent has to end before the run is over without it; it is ended all the same."""


class AcpBackend:
    """Runs each prompt in a process of the agent; nothing of it is left when the backend is closed."""

    def __init__(self, backend_id: str, options: AcpOptions, supervisor: Supervisor, bridge: ToolBridge) -> None:
        self._id = backend_id
        self._options = options
        self._supervisor = supervisor
        self._bridge = bridge
        self._agent = agent_of(options)

    @classmethod
    @asynccontextmanager
    async def open(cls, backend_id: str, options: AcpOptions) -> AsyncGenerator[Self]:
        """Open the backend; on leaving, no agent is left."""
        async with Supervisor.open(grace_s=options.grace_s) as supervisor, ToolBridge.serve() as bridge:
            yield cls(backend_id, options, supervisor, bridge)

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Start the agent, give it the prompt, and end it."""
        await checkpoint()
        options, agent = self._options, self._agent
        if request.tools_are_bounded and not agent.is_boundable:
            return Err(self._unbounded())
        if not agent.asks and has_written_rules(request):
            return Err(unasked(self._id, [one.name for one in AGENTS if one.asks], agent_setting(self._id)))
        for told in () if agent.asks else unasked_calls(request, self._id):
            sink.emit(DiagnosticRaised(diagnostic=told))
        env = command_environment(options, request.env)
        located = locate_command(options.command, env, backend=self._id, install=agent.install)
        if isinstance(located, Err):
            return located
        report = Report(self._id, agent, request, sink)
        async with self._served(request, report) as served:
            if isinstance(served, Err):
                return served
            started = await self._supervisor.start(self._launch(located.ok_value, request))
            if isinstance(started, Err):
                return started
            return await self._run_in(started.ok_value, request, report, served.ok_value)

    def _launch(self, command: tuple[str, ...], request: RunRequest) -> Launch:
        agent, options = self._agent, self._options
        env = child_environment(request, keys=agent.keys, extra={**agent.settings(request), **options.env})
        box = request.box
        if box is not None:
            box = agent.folders.needs(env).within(box, command)
        return Launch(command=(*command, *agent.arguments(request), *options.args), cwd=request.cwd, env=env, box=box)

    async def _run_in(
        self, child: Child, request: RunRequest, report: Report, endpoint: Endpoint | None
    ) -> Result[RunOutput, OhmError]:
        try:
            permissions = Permissions(self._agent, request, report)
            async with Peer.of(child, report.update, permissions.answer) as peer:
                opening = Opening(self._id, self._agent, self._options, peer, request)
                done = await AgentRun(self._id, self._agent, request, report, peer).through(opening, endpoint)
            if isinstance(done, Err):
                fault = done.err_value
                if isinstance(fault, OhmError):
                    return Err(fault)
                ended = await child.ended(within_s=GONE_WITHIN_S)
                return Err(ended_early(self._id, ended, request.env))
            child.stop()
            with anyio.move_on_after(GONE_WITHIN_S):
                await child.gone()
            return done
        finally:
            child.stop()

    @asynccontextmanager
    async def _served(self, request: RunRequest, report: Report) -> AsyncGenerator[Result[Endpoint | None, OhmError]]:
        """Serve the tools of the request to the agent."""
        if not request.child_tools:
            yield Ok(None)
            return
        async with self._bridge.offer(request.child_tools, report, request.gate) as offered:
            yield offered

    def _unbounded(self) -> OhmError:
        known = [one.name for one in AGENTS if one.is_boundable]
        return unbounded(self._id, agent_setting(self._id), known)
