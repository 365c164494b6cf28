"""The plugin as the host sees it. Cheap: nothing is looked for and nothing started until a task needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ohm_backend_cli.backend import agent_backend
from ohm_backend_cli.program import PROGRAMS
from ohm_subagents.plugin import hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents.plugin import BackendContext, BackendSpec
    from ohm_subagents.shell import ShellOptions


@hookimpl
def ohm_backends(context: BackendContext) -> Iterable[BackendSpec[ShellOptions]]:
    """Offer one backend for each command-line agent that is described here."""
    return [agent_backend(program, context) for program in PROGRAMS]
