"""The plugin as the host sees it. Cheap: nothing is looked for and nothing started until a task needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ohm_backend_cli.backend import agent_backend
from ohm_backend_cli.claude import CLAUDE
from ohm_backend_cli.codex import CODEX
from ohm_backend_cli.gemini import GEMINI
from ohm_backend_cli.opencode import OPENCODE
from ohm_backend_cli.qwen import QWEN
from ohm_subagents.plugin import BackendSpec, hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ohm_subagents.plugin import BackendContext
    from ohm_subagents.shell import ShellOptions

AGENTS: Final = (CLAUDE, CODEX, OPENCODE, GEMINI, QWEN)


@hookimpl
def ohm_backends(context: BackendContext) -> Iterable[BackendSpec[ShellOptions]]:
    """Offer one backend for each command-line agent that is described here."""
    return [agent_backend(agent, context) for agent in AGENTS]
