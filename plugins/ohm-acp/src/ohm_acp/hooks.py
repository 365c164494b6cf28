"""The plugin as the host sees it. Cheap: nothing is looked for and nothing started until a task needs it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from anyio import to_thread
from anyio.lowlevel import checkpoint

from ohm_acp.options import AcpOptions
from ohm_subagents.plugin import (
    BackendSpec,
    BackendType,
    Capability,
    Err,
    ErrorCode,
    OhmError,
    hookimpl,
    on_asyncio,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping
    from contextlib import AbstractAsyncContextManager
    from types import ModuleType

    from ohm_subagents.plugin import Backend, Result, RunOutput, RunRequest, Sink

CAPABILITIES: Final = frozenset(
    {
        Capability.SESSIONS,
        Capability.FILES,
        Capability.CHILD_TOOLS,
        Capability.FINALIZE,
        Capability.USAGE,
        Capability.CALL_RULES,
        Capability.SANDBOX,
    }
)


class _WrongLoop:
    """The backend where the ACP library cannot run: it says so for every prompt."""

    def __init__(self, backend_id: str) -> None:
        self._id = backend_id

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Return the error of every run."""
        del request, sink
        await checkpoint()
        return Err(
            OhmError(
                code=ErrorCode.EVENT_LOOP_UNSUPPORTED,
                message=f'Backend "{self._id}" runs on asyncio only, because the ACP library does.',
                advice="Start the program with asyncio (anyio.run(main) does by default), or use another backend.",
            )
        )


@cache
def instance(backend_id: str) -> BackendSpec[AcpOptions]:
    """Return the backend of this id, always the same, so that a reconfiguration leaves it open."""

    @asynccontextmanager
    async def open_backend(options: AcpOptions) -> AsyncGenerator[Backend]:
        if not on_asyncio():
            yield _WrongLoop(backend_id)
            return
        module: ModuleType = await to_thread.run_sync(import_module, "ohm_acp.backend")  # it takes most of a second
        opened: AbstractAsyncContextManager[Backend] = module.AcpBackend.open(backend_id, options)
        async with opened as backend:
            yield backend

    def lacks(options: AcpOptions, env: Mapping[str, str]) -> str | None:
        from ohm_acp.agents import agent_of  # noqa: PLC0415  only who asks pays for it
        from ohm_subagents.shell import command_environment, locate_command  # noqa: PLC0415  as above

        path = command_environment(options, env)
        found = locate_command(options.command, path, backend=backend_id, install=agent_of(options).install)
        return str(found.err_value) if isinstance(found, Err) else None

    return BackendSpec(
        id=backend_id,
        summary="Runs the subagent in an agent that speaks the Agent Client Protocol.",
        open=open_backend,
        options=AcpOptions,
        capabilities=CAPABILITIES,
        packages=("ohm-acp", "agent-client-protocol"),
        lacks=lacks,
    )


@hookimpl
def ohm_backend_types() -> Iterable[BackendType]:
    """Offer the type `acp`."""
    return [BackendType(id="acp", summary="An agent that speaks the Agent Client Protocol.", instance=instance)]
