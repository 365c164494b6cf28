"""The plugin `interactive-shell`. Cheap: what runs a `pi` is imported when the backend is opened."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ohm_subagents.backends.pi.options import BACKEND_ID, COMMAND, INSTALL, SUMMARY, PiOptions
from ohm_subagents.plugin import OHM_JSON, BackendSpec, Capability, Err, hookimpl
from ohm_subagents.shell import locate_command

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping

    from ohm_subagents.plugin import Backend, BackendContext, CompatibleProvider

CAPABILITIES: Final = frozenset(Capability) - {
    Capability.ATTACHES,
    Capability.CHILD_TOOLS,
    Capability.PREPARES,
    Capability.TRACES,
    Capability.IN_PROCESS,
}


@hookimpl
def ohm_backends(context: BackendContext) -> Iterable[BackendSpec[PiOptions]]:
    """Offer the backend. `pi` knows the services of models.json by itself, and gets those of ohm.json."""
    yield interactive_shell_spec(one for one in context.providers if one.source == OHM_JSON)


def interactive_shell_spec(services: Iterable[CompatibleProvider] = ()) -> BackendSpec[PiOptions]:
    """Return the backend; `services` are the OpenAI-compatible ones that `pi` does not know by itself."""
    return BackendSpec(
        id=BACKEND_ID,
        summary=SUMMARY,
        open=_Opening(tuple(services)),
        options=PiOptions,
        capabilities=CAPABILITIES,
        lacks=_lacks,
    )


@dataclass(frozen=True, slots=True)
class _Opening:
    """Opens the backend; equal to another that tells `pi` of the same services."""

    services: tuple[CompatibleProvider, ...]

    @asynccontextmanager
    async def __call__(self, options: PiOptions) -> AsyncGenerator[Backend]:
        from ohm_subagents.backends.pi.backend import opened  # noqa: PLC0415  only who runs a pi pays for it

        async with opened(options, self.services) as backend:
            yield backend


def _lacks(options: PiOptions, env: Mapping[str, str]) -> str | None:
    found = locate_command(options.command or COMMAND, env, backend=BACKEND_ID, install=INSTALL)
    if isinstance(found, Err):
        return str(found.err_value)
    from ohm_subagents.backends.pi.startup_check import trouble  # noqa: PLC0415  only who asks pays for it

    why = trouble(found.ok_value, options.mode, env)
    return None if why is None else str(why)
