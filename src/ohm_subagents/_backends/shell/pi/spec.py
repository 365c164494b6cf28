"""`interactive-shell` as a plugin offers it. Cheap: what runs a pi is imported when the backend is opened."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from ohm_subagents._backends.shell.command import located
from ohm_subagents._backends.shell.pi.options import PiOptions
from ohm_subagents._plugins.interfaces import BackendSpec, Capability
from ohm_subagents.contract.result import Err

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable, Mapping

    from ohm_subagents._backends.services import CompatibleProvider
    from ohm_subagents._plugins.interfaces import Backend

BACKEND_ID: Final = "interactive-shell"
SUMMARY: Final = "Runs the subagent as a nested pi, a process of its own."
INSTALL: Final = "npm install -g @earendil-works/pi-coding-agent"
COMMAND: Final = ("pi",)
CAPABILITIES: Final = frozenset(Capability) - {Capability.CHILD_TOOLS, Capability.PREPARES}


def interactive_shell_spec(services: Iterable[CompatibleProvider] = ()) -> BackendSpec[PiOptions]:
    """The backend; `services` are the OpenAI-compatible ones of ohm.json, which pi is told of."""

    @asynccontextmanager
    async def open_backend(options: PiOptions) -> AsyncGenerator[Backend]:
        from ohm_subagents._backends.shell.pi.backend import opened  # noqa: PLC0415  only who runs a pi pays for it

        async with opened(options, services) as backend:
            yield backend

    return BackendSpec(
        id=BACKEND_ID,
        summary=SUMMARY,
        open=open_backend,
        options=PiOptions,
        capabilities=CAPABILITIES,
        lacks=_lacks,
    )


def _lacks(options: PiOptions, env: Mapping[str, str]) -> str | None:
    found = located(options.command or COMMAND, env, backend=BACKEND_ID, install=INSTALL)
    if isinstance(found, Err):
        return str(found.err_value)
    from ohm_subagents._backends.shell.pi.trial import trouble  # noqa: PLC0415  only who asks pays for it

    why = trouble(found.ok_value, options.mode, env)
    return None if why is None else str(why)
