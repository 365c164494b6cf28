"""The plugin as the host sees it. Cheap: Ray is imported, and a cluster joined, when the first run needs it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from anyio import to_thread
from anyio.lowlevel import checkpoint

from ohm_ray.options import RayOptions
from ohm_ray.services import keyless
from ohm_subagents.plugin import (
    BackendContext,
    BackendSpec,
    Capability,
    Err,
    ErrorCode,
    OhmError,
    hookimpl,
    install_command,
    on_asyncio,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping
    from contextlib import AbstractAsyncContextManager
    from types import ModuleType

    from ohm_subagents.plugin import Backend, Result, RunOutput, RunRequest, Sink

BACKEND_ID: Final = "ray"
CAPABILITIES: Final = frozenset(
    {
        Capability.SESSIONS,
        Capability.FILES,
        Capability.STEERING,
        Capability.CHILD_TOOLS,
        Capability.FINALIZE,
        Capability.USAGE,
        Capability.AGENT_OPTIONS,
        Capability.CALL_RULES,
        Capability.IN_PROCESS,
        Capability.ATTACHES,
    }
)
WRONG_LOOP: Final = OhmError(
    code=ErrorCode.EVENT_LOOP_UNSUPPORTED,
    message=f'Backend "{BACKEND_ID}" runs on asyncio only, because Ray does.',
    advice="Start the program with asyncio (anyio.run(main) does by default), or use another backend.",
)


class _Unusable:
    """The backend where it cannot run: it says so for every prompt."""

    def __init__(self, why: OhmError) -> None:
        self._why = why

    async def run(self, request: RunRequest, sink: Sink) -> Result[RunOutput, OhmError]:
        """Return the error of every run."""
        del request, sink
        await checkpoint()
        return Err(self._why)


@dataclass(frozen=True, slots=True)
class _Opening:
    """Opens the backend. Equal for equal contexts, so that a reconfiguration leaves it open."""

    context: BackendContext

    @asynccontextmanager
    async def __call__(self, options: RayOptions) -> AsyncGenerator[Backend]:
        why = WRONG_LOOP if not on_asyncio() else None if find_spec("ray") else _not_installed()
        if why is not None:
            yield _Unusable(why)
            return
        module: ModuleType = await to_thread.run_sync(import_module, "ohm_ray.opening")
        services = keyless(self.context.providers)
        opened: AbstractAsyncContextManager[Result[Backend, OhmError]]
        opened = module.opened(options, self.context.env, services)
        async with opened as backend:
            yield _Unusable(backend.err_value) if isinstance(backend, Err) else backend.ok_value


def _not_installed() -> OhmError:
    return OhmError(
        code=ErrorCode.BACKEND_FAILED,
        message=f"Backend '{BACKEND_ID}' needs Ray, which is not installed.",
        advice=f"Install it: {install_command('ray')}",
    )


def _lacks(options: RayOptions, env: Mapping[str, str]) -> str | None:
    del options, env
    return None if find_spec("ray") else str(_not_installed())


def _run_of(options: RayOptions) -> str:
    return options.run


@hookimpl
def ohm_backends(context: BackendContext) -> Iterable[BackendSpec[RayOptions]]:
    """Offer the backend."""
    yield BackendSpec(
        id=BACKEND_ID,
        summary="Runs the subagent at a runner in a Ray cluster.",
        open=_Opening(context),
        options=RayOptions,
        capabilities=CAPABILITIES,
        runs=_run_of,
        packages=("ohm-ray", "ray"),
        lacks=_lacks,
    )
