"""`interactive-shell` as a plugin offers it. Cheap: what runs a pi is imported when the backend is opened."""

from __future__ import annotations

import shutil
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from ohm_subagents._backends.shell.pi.options import PiOptions
from ohm_subagents._plugins.interfaces import BackendSpec, Capability

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from ohm_subagents._backends.shell.pi.home import Service
    from ohm_subagents._plugins.interfaces import Backend

BACKEND_ID: Final = "interactive-shell"
SUMMARY: Final = "Runs the subagent as a nested pi, a process of its own."
INSTALL: Final = "npm install -g @earendil-works/pi-coding-agent"
MISSING: Final = f'"pi" is not on the PATH; install it: {INSTALL}.'
CAPABILITIES: Final = frozenset({Capability.SESSIONS, Capability.FILES, Capability.STEERING, Capability.USAGE})


def interactive_shell_spec(services: Iterable[Service] = ()) -> BackendSpec[PiOptions]:
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
        lacks=lambda: None if shutil.which("pi") else MISSING,
    )
