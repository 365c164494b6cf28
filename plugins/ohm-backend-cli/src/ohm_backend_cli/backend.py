"""The backend of an agent as a plugin offers it. Cheap: what runs the agent is imported when it is opened."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ohm_subagents.plugin import OHM_JSON, BackendSpec, Capability, Err
from ohm_subagents.shell import ShellOptions

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from ohm_backend_cli.program import Program
    from ohm_subagents.plugin import Backend, BackendContext, CompatibleProvider


@dataclass(frozen=True)
class Opening:
    """Opens the backend of an agent; equal to another of the same agent, so that it stays open."""

    program: Program
    services: tuple[CompatibleProvider, ...] = ()
    """The services of ohm.json that it may ask."""

    @asynccontextmanager
    async def __call__(self, options: ShellOptions) -> AsyncGenerator[Backend]:
        """Open it."""
        from ohm_backend_cli.agent_runs import opened  # noqa: PLC0415  only who runs an agent pays for it

        async with opened(self.program.agent(), options, self.services) as backend:
            yield backend


def agent_backend(program: Program, context: BackendContext) -> BackendSpec[ShellOptions]:
    """Return the backend of an agent, for a plugin to hand over; `context` is that of the hook `ohm_backends`."""

    def lacks(options: ShellOptions, env: Mapping[str, str]) -> str | None:
        from ohm_subagents.shell import command_environment, locate_command  # noqa: PLC0415  only who asks pays for it

        command, path = options.command or (program.id,), command_environment(options, env)
        found = locate_command(command, path, backend=program.id, install=program.install)
        return str(found.err_value) if isinstance(found, Err) else None

    services = tuple(one for one in context.providers if one.source == OHM_JSON) if program.api else ()
    return BackendSpec(
        id=program.id,
        summary=program.summary,
        open=Opening(program, services),
        options=ShellOptions,
        capabilities=program.capabilities | {Capability.FILES, Capability.SANDBOX},
        packages=("ohm-backend-cli",),
        lacks=lacks,
    )
