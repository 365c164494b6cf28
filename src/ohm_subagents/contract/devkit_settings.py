"""What 001 reads from `extensions/devkit-pi/config.json`, key `subagents`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LSP_ACTIONS: Final = (
    "definition",
    "references",
    "hover",
    "signature",
    "symbols",
    "diagnostics",
    "workspace-diagnostics",
    "servers",
)
"""The actions of an `lsp` tool that change nothing; a subagent never gets another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DevkitSettings:
    """The values in force.

    `max_depth` is how many levels of subagents there may be, 0 for none. `timeout_ms` is the time of one attempt,
    `idle_timeout_ms` how long nothing may happen in it, None for as long as it lasts. `max_attempts` is 1 without
    retries. `injects_policy`: whether the tool tells the parent when to delegate.
    """

    enabled: bool = True
    max_depth: int = 1
    timeout_ms: int = 120_000
    idle_timeout_ms: int | None = None
    allow_write: bool = False
    allow_lsp_tools: bool = True
    allowed_lsp_actions: tuple[str, ...] = LSP_ACTIONS
    injects_policy: bool = True
    retries: bool = True
    max_attempts: int = 2
