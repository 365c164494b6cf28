"""`interactive-shell` as a plugin offers it. Cheap: what runs a pi is imported when the backend is opened."""

from __future__ import annotations

import shutil
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import anyio

from ohm_subagents._backends.shell.pi.options import PiOptions
from ohm_subagents._plugins.interfaces import BackendSpec, Capability

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from ohm_subagents._backends.shell.pi.home import Service
    from ohm_subagents._plugins.interfaces import Backend

BACKEND_ID: Final = "interactive-shell"
SUMMARY: Final = "Runs the subagent as a nested pi, a process of its own."
CAPABILITIES: Final = frozenset({Capability.SESSIONS, Capability.FILES, Capability.STEERING, Capability.USAGE})


def interactive_shell_spec(services: Iterable[Service] = ()) -> BackendSpec[PiOptions]:
    """The backend; `services` are the OpenAI-compatible ones of ohm.json, which pi is told of."""

    @asynccontextmanager
    async def open_backend(options: PiOptions) -> AsyncGenerator[Backend]:
        from ohm_subagents._backends.shell.pi.backend import PiBackend  # noqa: PLC0415
        from ohm_subagents._backends.shell.pi.home import PiHome  # noqa: PLC0415
        from ohm_subagents._backends.shell.pi.probe import PiProbe  # noqa: PLC0415
        from ohm_subagents._backends.shell.pi.warm import WarmProcesses  # noqa: PLC0415
        from ohm_subagents._backends.shell.process import Supervisor, output_of  # noqa: PLC0415

        with TemporaryDirectory(prefix="ohm-pi-", ignore_cleanup_errors=True) as folder:
            async with Supervisor.open(grace_s=options.grace_s) as supervisor, anyio.create_task_group() as group:
                yield PiBackend(
                    options,
                    supervisor=supervisor,
                    probe=PiProbe(partial(output_of, supervisor)),
                    home=PiHome(Path(folder), services),
                    warm=WarmProcesses(group, ttl_s=options.idle_ttl_s),
                )
                group.cancel_scope.cancel()

    return BackendSpec(
        id=BACKEND_ID,
        summary=SUMMARY,
        open=open_backend,
        options=PiOptions,
        capabilities=CAPABILITIES,
        lacks=lambda: None if shutil.which("pi") else "",
    )
